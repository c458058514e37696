"""Scenario files: what is accepted, and the message for each mistake."""

import io
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from testbed import paths
from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.scenario import bounded
from testbed.scenario.files import find, links, scenarios, sweeps, tables
from testbed.scenario.load import load
from tests.raises import Containing, Said, raises

STARTUP = (paths.SCENARIOS / "startup.yaml").read_text()


@pytest.fixture
def write(tmp_path: Path):
    """Write a scenario file and give its path."""

    def write_it(text: str) -> str:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return str(path)

    return write_it


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), start=1) if part in line)


@pytest.mark.parametrize("path", [*scenarios(), *links()], ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True])
def test_every_shipped_scenario_is_valid(path: Path, quick: bool) -> None:
    scenario = load(str(path), quick=quick).scenario
    assert scenario.name == path.stem
    # In virtual time there may be no database.
    assert {check.judge for check in scenario.checks} - {"points_stored"}


def test_quick_and_set_change_the_scenario_in_that_order() -> None:
    def transfer_bytes(*assignments: str, quick: bool) -> int:
        ncp = load("startup", assignments, quick=quick).scenario.ncp
        assert ncp is not None
        return ncp.transfer_bytes

    assert transfer_bytes(quick=False) == 48 << 20
    assert transfer_bytes(quick=True) == 16 << 20
    assert transfer_bytes("transfer=1MiB", quick=True) == 1 << 20


@pytest.mark.parametrize(
    ("assignment", "read"),
    [
        ("policy=previous", lambda s: s.ncp.policy == "previous"),
        ("ncp.policy=previous", lambda s: s.ncp.policy == "previous"),
        ("links.slow.rate=256pps", lambda s: s.links[1].rate.pps == 256),
        ("links.2.delay=500ms", lambda s: s.links[1].delay_ms == 500),
        ("initial_windows=[4095, 1]", lambda s: s.ncp.initial_windows == [4095, 1]),
        ("ack_repeats=2", lambda s: s.ncp.ack_repeats == 2),
        ("transport=tcp", lambda s: s.ncp.transport == "tcp"),
        ("seed=7", lambda s: s.seed == 7),
        ("limits.delay_error=2ms", lambda s: s.limits.delay_error_ms == 2),
    ],
)
def test_set(assignment, read) -> None:
    assert read(load("startup", [assignment]).scenario)


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        ("polisy=previous", Said("set.no-such-value", guess=Containing("did you mean 'policy'"))),
        ("rate=1mbit", Said("set.ambiguous", options="links.fast.rate, links.slow.rate")),
        ("links.medium.rate=1mbit", Said("set.no-such-entry", guess=" (known: fast, slow)")),
        (
            "links.fast.rate=1024",
            Said(
                "quantity.number-without-unit",
                place=Containing("--set links.fast.rate=1024: links.fast.rate"),
                field="links.fast.rate",
                number=1024,
            ),
        ),
        ("links.fast.reat=1mbit", Said("input.unknown-key", key="reat", guess=Containing("; did you mean 'rate'"))),
        ("ncp.transport=quic", Said("input.wrong-type", known="udp, tcp")),
        ("ncp.congestion_control=CUBIC", Said("input.wrong-type", place=Containing("ncp.congestion_control"))),
        ("policy", Said("set.no-value")),
        ("policy=[", Said("yaml.invalid")),
        ("initial_windows=[1]", Said("ncp.windows-per-link", windows=1, links=2)),
        ("name.x=1", Said("set.no-parts")),
    ],
)
def test_set_mistakes(assignment: str, says: Said) -> None:
    with pytest.raises(BadInput) as raised:
        load("startup", [assignment])
    says.check(raised.value)
    assert raised.value.exit_code == Exit.BAD_INPUT


@pytest.mark.parametrize(
    ("old", "new", "field", "says"),
    [
        (
            "rate: 1024pps",
            "rate: 1024",
            "links.fast.rate",
            Said("quantity.number-without-unit", number=1024, example=Containing("1024pps")),
        ),
        (
            "slow, rate: 128pps, delay: 50ms",
            "slow, rate: 128pps, delay: -50ms",
            "links.slow.delay",
            Said("quantity.negative-duration"),
        ),
        (
            "rate: 1024pps, delay",
            "rate: 1024pps, dealy",
            "links.fast.dealy",
            Said("input.unknown-key", guess=Containing("did you mean 'delay'")),
        ),
        (
            "policy: nkp24",
            "polisy: nkp24",
            "ncp.polisy",
            Said("input.unknown-key", guess=Containing("did you mean 'policy'")),
        ),
        (
            "topology: parallel",
            "topology: paralel",
            "topology",
            Said("input.wrong-type", error=Containing("'parallel'")),
        ),
        (
            "tolerance: 0.03",
            "tolerence: 0.03",
            "tolerence",
            Said("input.unknown-key", guess=Containing("did you mean 'tolerance'")),
        ),
        (
            "judge: payload_intact",
            "judge: payload_intakt",
            "checks",
            Said("input.wrong-type", error=Containing("payload_intact")),
        ),
        ("transfer: 48MiB", "transfer: 48", "ncp.transfer", Said("quantity.number-without-unit", number=48)),
        (
            "series: window_packets",
            "series: window_packet",
            "series",
            Said("series.not-found", name="window_packet", guess="; did you mean 'window_packets'?"),
        ),
    ],
)
def test_a_mistake_is_named_with_file_line_field_and_what_is_right(write, old, new, field, says) -> None:
    assert old in STARTUP
    text = STARTUP.replace(old, new)
    path = write(text)
    with pytest.raises(BadInput) as raised:
        load(path)
    assert raised.value.message.startswith(f"{path}:{line_of(text, new)}: ")
    assert field in raised.value.message
    says.check(raised.value)


def test_a_missing_key_is_named(write) -> None:
    with raises(BadInput, "input.missing", field="ncp.policy"):
        load(write("\n".join(line for line in STARTUP.splitlines() if "policy:" not in line)))


def test_two_links_of_one_name(write) -> None:
    with raises(BadInput, "scenario.name-twice", kind="link", name="fast"):
        load(write(STARTUP.replace("name: slow", "name: fast")))


@pytest.mark.parametrize("text", ["", "just text", "- a\n- b\n", "a: [\n", "a: 1\na: 2\n", "\x00"])
def test_what_is_no_scenario_at_all(write, text: str) -> None:
    with pytest.raises(BadInput):
        load(write(text))


def test_an_unknown_scenario_suggests_a_near_one() -> None:
    with raises(BadInput, "scenario.not-found", kind="scenario", name="statup", guess="; did you mean 'startup'?"):
        find("statup", "scenario", scenarios())
    with raises(BadInput, "scenario.no-file", what="scenario"):
        find("nowhere/startup.yaml", "scenario", scenarios())


def test_a_text_that_was_read_before_is_the_same_document_and_each_caller_s_own() -> None:
    """With its lines and comments; ``data/published/`` has the longest."""

    def again(node: Any) -> list[Any]:
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return [type(node), getattr(node, "lc", CommentedMap().lc).data, *map(again, children)]

    def dumped(document: Any) -> str:
        YAML().dump(document, text := io.StringIO())
        return text.getvalue()

    for path in [*scenarios(), *links(), *tables(), *sweeps(), paths.CHECKOUT / "data" / "published" / "claims.yaml"]:
        text = path.read_text()
        bounded._pickled.cache_clear()
        fresh, first = bounded._read(text, True, 1 << 18), bounded.load(text, lines=True, most_characters=1 << 18)
        assert (first, again(first), dumped(first)) == (fresh, again(fresh), dumped(fresh))
        first.clear()
        assert bounded.load(text, lines=True, most_characters=1 << 18) == fresh
        assert bounded._pickled.cache_info().hits == 1
