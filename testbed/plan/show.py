"""The plan in words, for ``--dry-run`` and ``show``."""

from __future__ import annotations

from testbed.plan.resolve import Plan, expected_transfer_s


def plan_text(plan: Plan) -> str:
    """What a run would build, send and judge, a line each."""
    session = plan["sessions"][0]
    mib = session["transfer_bytes"] / 2**20
    lines = [
        f"{plan['scenario']}: {plan['title']}",
        *([f"  source     {plan['source']}"] if plan["source"] else []),
        f"  topology   {plan['topology']['name']}: {session['sender_host']} → {session['receiver_host']}, "
        f"middle of the links by {plan['middle']}, agents by {plan['runtime']}",
    ]
    for link in plan["links"]:
        lines.append(
            f"  link {link['index']:<5} {link['name']}: {link['rate_pps']:g} packets/s of {link['frame_bytes']} B "
            f"({link['rate_bps'] / 1e6:.3f} Mbit/s), {link['delay_ms']:g} ms one-way, loss {link['loss']:.2%}, "
            f"{link['queue']['packets']} packets queued at the sender"
        )
    stated = session["initial_windows"]
    windows = "/".join(f"{w:g}" for w in stated) if stated else session["policy_facts"]["initial"]
    lines += [
        f"  session    policy {session['policy']}, {mib:g} MiB, MTU {session['mtu_bytes']} B, "
        f"send window {session['send_window_bytes'] // session['mtu_bytes']} packets, windows start at {windows}",
        f"  seed       {plan['seed']}",
        f"  time       about {expected_transfer_s(plan):.0f} s of transfer, given up after "
        f"{plan['limits']['transfer_s']:.0f} s",
    ]
    for check in plan["checks"]:
        details = ", ".join(
            f"{k} {v}" for k, v in check.items() if k not in ("name", "judge") and v is not None
        )
        lines.append(f"  check      {check['name']}: {check['judge']}" + (f" ({details})" if details else ""))
    if plan["overrides"]:
        lines.append(f"  changed    {', '.join(plan['overrides'])}")
    return "\n".join(lines)
