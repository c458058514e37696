"""Mistakes that users make, each with the line it is in, the field, the value, and what would be right."""

from pathlib import Path
from typing import Any

import pytest

from testbed import engines, paths
from testbed.engines.engine import Options, Programs
from testbed.errors import BadInput
from testbed.scenario.load import load

STARTUP = (paths.SCENARIOS / "startup.yaml").read_text()
DUMBBELL = (paths.SCENARIOS / "dumbbell.yaml").read_text()
POLICIES: Any = {name: {"name": name, "initial": "64"} for name in ("previous", "nkp24", "delivery-rate")}
FAST = "rate: 1024pps, delay: 50ms"


def event(text: str) -> str:
    return f"{STARTUP}timeline:\n  - {{{text}}}\n"


MISTAKES = {
    "policy": (STARTUP.replace("policy: nkp24 ", "policy: nkp42 "), ":20: ncp.policy: ", "did you mean 'nkp24'?"),
    "link of an event": (event("at: 5s, do: down, link: fst"), ":76: timeline.1.link: ", "did you mean 'fast'?"),
    "time without unit": (event("at: 5, do: down, link: fast"), ":76: timeline.1.at: 5 ", "write for example 50ms"),
    "no time": (event("do: down, link: fast"), ":76: timeline.1.at: is missing", "write for example 50ms"),
    "time that never comes": (event("at: 5000s, do: down, link: fast"), ":76: timeline.1.at: 5000 s", "transfer_time"),
    "no such connection": (
        event("at: 1s, do: pause_read, connection: 7, for: 1s"),
        ":76: timeline.1.conn",
        "known: 1, 2",
    ),
    "event": (event("at: 5s, do: dwn, link: fast"), ":76: timeline.1: 'dwn'", "did you mean 'down'?"),
    "no event": (event("at: 5s, link: fast"), ":76: timeline.1: 'do' is missing", "flap"),
    "timeline without dashes": (f"{STARTUP}timeline: {{at: 5s}}\n", ":75: timeline: ", "a dash for each"),
    "goodputs": (STARTUP.replace("delivered_pps", "goodputs"), "ratio.series: ", "did you mean 'goodput_bps'?"),
    "judge": (STARTUP.replace("judge: ratio", "judge: goodputs", 1), ":54: checks.", "did you mean 'goodput'?"),
    "no judge": (
        STARTUP.replace("    judge: ratio\n", "", 1),
        ":54: checks.final window ratio: 'judge' is mis",
        "ratio",
    ),
    "indentation": (STARTUP.replace("  policy: nkp24 ", "   policy: nkp24 "), ":21: ", "indented otherwise"),
    "a tab": (STARTUP.replace("  policy: nkp24 ", "\tpolicy: nkp24 "), ":20: ", "indent with spaces"),
    "no colon": (STARTUP.replace("topology: parallel", "topology parallel"), ":15: ", "key: value"),
    "an open bracket": (STARTUP.replace("delay: 50ms}     #", "delay: 50ms     #"), ":17: ", "not closed"),
    "topology": (STARTUP.replace(": parallel", ": paralel"), ":15: topology: 'paralel'", "did you mean 'parallel'?"),
    "empty topology": (STARTUP.replace(": parallel", ":"), ":15: topology: ", "one of parallel, relays, dumbbell"),
    "no topology": (
        DUMBBELL.replace("topology: dumbbell\n", ""),
        ": sessions: topology parallel, ",
        "use topology dumb",
    ),
    "ends": (STARTUP.replace(FAST, f"{FAST}, ends: [a, b]"), ":17: links.fast.ends: ", "topology graph"),
    "name": (STARTUP.replace("name: startup", "name: My Run"), ":8: name: 'My Run'", "should match pattern"),
    "percent of a number": (STARTUP.replace("nce: 0.03", "nce: 3%"), ".tolerance: '3%'", "write 0.03"),
    "no rate": (
        STARTUP.replace("rate: 1024pps, ", ""),
        ":17: links.fast.rate: is missing",
        "write for example 1024pps",
    ),
    "queue's mode": (STARTUP.replace(FAST, f"{FAST}, queue: {{mode: tail}}"), ":17: links", "did you mean 'droptail'?"),
    "file of a trace": (
        STARTUP.replace(FAST, f"{FAST}, queue: {{mode: droptail}}, trace: no.up"),
        ":17: links.fast.trace: ",
        "no.up: No such file",
    ),
    "session of a check": (STARTUP.replace("_intact}", "_intact, session: s9}"), ":68: checks.payload.session", "s1"),
    "a rate each way": (
        STARTUP.replace(FAST, "rate: {ab: 1024pps, ba: 64pps}, delay: 50ms"),
        ":17: links.fast.rate: {'ab': '1024pps', 'ba': '64pps'} is not a quantity; write for example 1024pps or 8mbit",
        "changes one: {at: 0s, do: set, link: fast, direction: ba, rate: 64pps}",
    ),
    "two delays": (
        STARTUP.replace(FAST, "rate: 8mbit, delay: [9ms, 1s]"),
        ":17: links.fast.delay: ['9ms', '1s']",
        "ba",
    ),
    "a key for one way": (
        STARTUP.replace(FAST, f"{FAST}, rate_ba: 64pps"),
        ":17: links.fast.rate_ba: ",
        "the timeline changes one: {at: 0s, do: set, link: fast, direction: ba, ",
    ),
    "a rate each way in an event": (
        event("at: 1s, do: set, link: fast, rate: {ba: 64pps}"),
        ":76: timeline.1.rate: {'ba': '64pps'} ",
        "for one direction add direction: ab or ba",
    ),
    "down one way": (
        event("at: 1s, do: down, link: fast, direction: ab"),
        ":76: timeline.1.direction: ",
        "{do: set, direction: ab, loss: 100%}",
    ),
    "too large": (STARTUP.replace("mtu: 1024", "mtu: 9000"), ":23: ncp.mtu: 9000 ", "less than or equal to 1400"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_says_where_it_is_and_what_would_be_right(tmp_path: Path, mistake: str) -> None:
    text, place, right = MISTAKES[mistake]
    assert text not in (STARTUP, DUMBBELL)
    (file := tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(BadInput) as error:
        plan(str(file))
    assert error.value.message.startswith(str(file))
    assert place in error.value.message
    assert right in error.value.message
    for word in ("Input ", "dictionary", "tuple", "tag", "discriminator", "block"):
        assert word not in error.value.message.removeprefix(str(file))


def test_a_mistake_of_set_names_that() -> None:
    with pytest.raises(BadInput, match=r"--set ncp\.policy=prevous: ncp\.policy: .*did you mean 'previous'"):
        plan("startup", "policy=prevous")


def plan(name: str, *assignments: str) -> None:
    engine = engines.named("sim")
    engine.plan(load(name, assignments), Programs({}, POLICIES), engine.choices(Options()))
