"""Made-up runs for tests: telemetry of two connections whose windows obey a policy's rule, packet by packet.

This is test data only. The windows come from applying the policies' rules to a crude fluid of packets (an ACK
for every packet one RTT after it was sent, as fast as the link allows), not from the law that is tested.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from testbed.judge.checks import Trust
from testbed.judge.judge import judge
from testbed.series import FromFile
from topologies.link import rate_pps

START_NS = 1_795_000_000_123_456_789
_STEP_S = 0.01
_POLICIES = {
    "nkp24": {"name": "nkp24", "cap_packets": None, "rule": "+1 per ACK, the sum kept at W"},
    "previous": {"name": "previous", "cap_packets": 256, "rule": "+1 per ACK up to 256"},
}


def make_plan(
    policy: str = "nkp24", *, transfer_mib: int = 48, quick: bool = False, initial: list[int] | None = None
) -> Any:
    """A plan of the startup experiment: 1024 and 128 packets/s, 50 ms one-way."""
    start = 16 if policy == "previous" else 2048
    rates = {"fast": 1024.0, "slow": 128.0}
    return {
        "schema": 2,
        "run": "20261121-035200-3f9a",
        "scenario": "startup",
        "title": "Windows that start equal follow the throughput of their connections",
        "source": 'NKP-0024, "start from same"',
        "description": "Two connections, 1024 and 128 packets/s, 50 ms one-way each.",
        "seed": 1,
        "engine": "mininet",
        "runtime": "docker",
        "middle": "relay",
        "quick": quick,
        "occasion": "manual",
        "overrides": [],
        "variant": "quick" if quick else "full",
        "topology": {"name": "parallel"},
        "traffic": "ncp",
        "namespace": "ncp-3f9a",
        "timeline": [],
        "hosts": [
            {"name": name, "management_address": f"198.19.0.1{number}"} for number, name in ((1, "h1"), (2, "h2"))
        ],
        "nodes": [],
        "routes": [],
        "cross_traffic": [],
        "links": [
            {
                "name": name,
                "index": index,
                "rate_bps": int(rate * 1073 * 8),
                "frame_bytes": 1073,
                "burst_bytes": 3000,
                "delay_ms": 50.0,
                "loss": 0.0,
                "seed": 17 + index,
                "queue": {"mode": "backpressure", "packets": int(rate * 0.1)},
                **{
                    end: {
                        "host": f"h{number}",
                        "interface": f"h{number}-eth{index}",
                        "address": f"198.18.{index}.{number}",
                        "prefix": 30,
                        "mac": f"02:4e:43:50:0{index}:0{number}",
                        "middle_interface": f"l{index}{end}",
                    }
                    for number, end in ((1, "a"), (2, "b"))
                },
            }
            for index, (name, rate) in enumerate(rates.items(), start=1)
        ],
        "sessions": [
            {
                "name": "s1",
                "start_s": 0.0,
                "sender_host": "h1",
                "receiver_host": "h2",
                "policy": policy,
                "policy_facts": _POLICIES[policy],
                "transport": "udp",
                "transfer_bytes": transfer_mib << 20,
                "send_window_bytes": 4194304,
                "mtu_bytes": 1024,
                "initial_windows": initial or [start, start],
                "ack_interval_ms": 50,
                "max_ack_ranges": 32,
                "ack_repeats": 0,
                "timeout_check_ms": 50,
                "linger_ms": 1000,
                "connections": [
                    {
                        "index": index,
                        "link": name,
                        "path": [name],
                        "send_buffer_packets": int(rate * 0.1),
                        "sender": f"198.18.{index}.1:{30000 + index}",
                        "receiver": f"198.18.{index}.2:{30000 + index}",
                    }
                    for index, (name, rate) in enumerate(rates.items(), start=1)
                ],
            }
        ],
        "telemetry": {"interval_ms": 100, "url": "http://198.19.0.1:8086", "database": "ncp_testbed"},
        "checks": [
            {
                "name": "windows follow the law",
                "judge": "follows_law",
                "series": "window_share",
                "tolerance": 0.03,
                "from_s": 1.0,
                "to_s": 20.0,
            },
            {
                "name": "final window ratio",
                "judge": "ratio",
                "series": "window_packets",
                "connections": ["1", "2"],
                "last_s": 1.0,
                "min": 7.0,
                "max": 9.0,
            },
            {
                "name": "delivered ratio",
                "judge": "ratio",
                "series": "delivered_pps",
                "connections": ["1", "2"],
                "last_s": 5.0,
                "min": 7.0,
                "max": 9.0,
            },
            {"name": "payload", "judge": "payload_intact"},
            {"name": "database", "judge": "points_stored"},
        ],
        "limits": {
            "rate_error": 0.02,
            "delay_error_ms": 1.0,
            "lateness_p99_ms": 2.0,
            "cpu_idle": 0.05,
            "cpu_busy_s": 2.0,
            "transfer_s": 158.0,
        },
    }


def telemetry(plan: Any, *, noise: float = 0.0, seconds: float | None = None) -> list[str]:
    """The run's lines, in time order; ``noise`` shakes RTTs and lateness, ``seconds`` cuts the run short."""
    session = plan["sessions"][0]
    rates = [rate_pps(link) for link in plan["links"]]
    total = session["transfer_bytes"] / session["mtu_bytes"]
    window = session["send_window_bytes"] / session["mtu_bytes"]
    windows = [float(w) for w in session["initial_windows"]]
    acked, random_source = [0.0, 0.0], random.Random(7)
    lines, step = [_event(plan, "transfer_start", 0.0)], 0
    while sum(acked) < total and (seconds is None or step * _STEP_S < seconds):
        step += 1
        t_s = step * _STEP_S
        rtt_s = [0.15 + (0.02 if rate > 500 else 0.01) for rate in rates]
        pps = [min(r, w / rtt) if t_s > rtt else 0.0 for r, w, rtt in zip(rates, windows, rtt_s, strict=True)]
        for i, rate in enumerate(pps):
            acked[i] += rate * _STEP_S
            windows[i] += rate * _STEP_S
        if session["policy"] == "nkp24":
            windows = [w * window / sum(windows) for w in windows]
        else:
            windows = [min(256.0, w) for w in windows]
        if step % 10 == 0:
            shaken = [r * (1 + noise * random_source.uniform(-1, 1)) for r in rtt_s]
            lines += _sample(plan, t_s, windows, acked, pps, shaken, noise * random_source.random())
    lines.append(_event(plan, "transfer_end", step * _STEP_S))
    return lines


def write_result(folder: Path, plan: Any, lines: list[str]) -> None:
    """A result folder as a run leaves it, judged and with every file the report reads."""
    (folder / "agents").mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan, indent=2))
    (folder / "telemetry.lp").write_text("".join(line + "\n" for line in lines))
    size = plan["sessions"][0]["transfer_bytes"]
    for host, role in (("h1", "sender"), ("h2", "receiver")):
        result = {"session": "s1", "role": role, "bytes": size, "sha256": "5f" * 32, "state": "done", "error": ""}
        (folder / "agents" / f"{host}.json").write_text(json.dumps(result))
    reader = FromFile(folder / "telemetry.lp")
    points = reader.count_points()
    verdict = judge(plan, reader, folder / "agents", Trust(trusted=True), file_points=points, database_points=points)
    (folder / "verdict.json").write_text(json.dumps(verdict.to_json(), indent=2))


def _sample(plan, t_s, windows, acked, pps, rtt_s, lateness) -> list[str]:
    at = START_NS + round(t_s * 1e9)
    run = f"run={plan['run']},scenario={plan['scenario']}"
    policy = plan["sessions"][0]["policy"]
    lines = []
    for index in (0, 1):
        tags = f"{run},session=s1,connection={index + 1},policy={policy}"
        in_flight = min(windows[index], rate_pps(plan["links"][index]) * rtt_s[index])
        share = pps[index] / sum(pps) if sum(pps) else 0.0
        delivered = f"delivered_pps={pps[index]!r},delivered_share={share!r}"
        lines.append(
            f"ncp_connection,{tags},role=sender window_packets={windows[index]!r},"
            f"window_share={windows[index] / sum(windows)!r},in_flight_packets={round(in_flight)}i,"
            f"rtt_ms={rtt_s[index] * 1e3!r},rto_ms={max(3e3 * rtt_s[index], 5e3 - 2e3 * t_s)!r},{delivered},"
            f"sent={round(acked[index]) + round(in_flight)}i,resent=0i,acked={round(acked[index])}i,lost=0i {at}"
        )
        lines.append(f"ncp_connection,{tags},role=receiver {delivered} {at}")
        link = plan["links"][index]
        for direction in ("ab", "ba"):
            lines.append(
                f"link,{run},link={link['name']},direction={direction},middle=relay rate_bps={link['rate_bps']},"
                f"delay_ms=50,lateness_us={60 + 100 * lateness!r},lateness_p99_us={300 + 2000 * lateness!r},"
                f"drops=0i {at}"
            )
    bits = sum(pps) * 1024 * 8
    lines.append(
        f"ncp_session,{run},session=s1,role=receiver,policy={policy} goodput_bps={bits!r},"
        f"bytes={round(sum(acked) * 1024)}i,reorder_bytes=0i {at}"
    )
    lines.append(f"host,{run} cpu={0.2 + lateness!r},steal=0,run_queue=1i {at}")
    return lines


def _event(plan, kind: str, at_s: float) -> str:
    tags = f"run={plan['run']},scenario={plan['scenario']},session=s1,kind={kind}"
    text = {"transfer_start": "session established", "transfer_end": "all data acknowledged"}[kind]
    return f'event,{tags} at_s={at_s!r},text="{text}" {START_NS + round(at_s * 1e9)}'
