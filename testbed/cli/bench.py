"""``bench``: what the testbed's own parts are worth, measured beside others'."""

from importlib import import_module
from typing import Annotated, Literal

import typer

from testbed.errors import BadInput
from testbed.exit_codes import Exit


def bench(
    what: Annotated[Literal["links", "ncp", "telemetry", "sim", "overlay"], typer.Argument(help="What to measure.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats.")] = False,
    only: Annotated[str, typer.Option(help="links: some of rtt, rate, loss, tcp, scale, setup.")] = "",
) -> None:
    """Measure the emulated links beside mahimahi's, rattan's and netem's, where they are installed; or how
    fast two agents carry data over a link without a limit, beside iperf3's TCP; or what 20,000 points/s of
    telemetry do to a transfer. Without root: how fast virtual time is, or overlays of up to 1,000 sessions
    in it.

    Ends with 0 if every target is reached, with 1 if one is missed. links takes up to 12 minutes, a minute
    and a half with --quick; ncp two minutes, or half a minute; telemetry two and a half, or one;
    sim half a minute; overlay six minutes, or half a minute.
    """
    if only and what != "links":
        raise BadInput("bench.only-links-has-parts", f"--only: {only!r}: only bench links has parts; leave it out")
    # Imported now: the help must not wait for all of them.
    module = import_module(f"testbed.lab.{'simulator' if what == 'sim' else what}")
    parts = tuple(part.strip() for part in only.split(",")) if only else ()
    for part in parts:
        if part not in module.PARTS:
            raise BadInput(
                "bench.no-such-part", f"--only: {part!r} is no part of the benchmark; parts: {', '.join(module.PARTS)}"
            )
    passed = module.BENCHMARK.carry_out(f"bench {what}", quick=quick, parts=parts)
    raise typer.Exit(Exit.PASS if passed else Exit.FAIL)
