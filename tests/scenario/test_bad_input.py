"""Whatever a file says, there is a valid plan or one clear message: no traceback, no hang, no memory without end."""

import copy
import json
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from testbed import paths
from testbed.errors import BadInput
from testbed.planning.resolve import Choices, resolve
from testbed.scenario import bounded, files
from testbed.scenario.load import load
from testbed.scenario.model import Scenario
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables
from testbed.study.kinds.claims import reference_place
from testbed.study.kinds.claims_file import Claims
from testbed.study.kinds.claims_file import load as load_claims
from testbed.study.kinds.sweep_file import Sweep
from testbed.study.kinds.table_file import Table
from testbed.study.ledger import begin
from tests.claims.test_claims import SMALL as SMALL_CLAIMS
from tests.raises import raises
from tests.scenario import mutations
from tests.tables import small_table

POLICIES = {**small_table.POLICIES, "delivery-rate": small_table.POLICIES["nkp24"]}
"""All that shipped files ask for, so that it is not this that a changed one is refused for."""
MOST_MEMORY_BYTES = 200 << 20
MOST_CPU_S = 10
"""A second is what a file may take; ten of the processor's time are more than any machine makes of that."""
STARTUP = (paths.SCENARIOS / "startup.yaml").read_text()
# Python of the user's own is theirs to get right; Mininet prints what it thinks of it.
SCENARIOS = [
    document
    for path in [*files.scenarios(), *files.links()]
    if "file" not in str((document := mutations.plain(path))["topology"])
]
TABLES = [mutations.plain(path) for path in files.tables()]
SWEEPS = [mutations.plain(path) for path in files.sweeps()]

EXAMPLES = int(os.environ.get("NCP_TESTBED_EXAMPLES", "40"))
"""Of each kind; thousands at night."""
thorough = settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

NINES = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
)
"""Nine lists of nine: 350 bytes that stand for 400 million values."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


@contextmanager
def bounds() -> Iterator[None]:
    """What goes beyond the memory or the CPU time that a file may take ends with an error that fails the test."""

    def too_long(_number: int, _frame: object) -> None:
        raise TimeoutError(f"more than {MOST_CPU_S} s of CPU time")

    before = resource.getrlimit(resource.RLIMIT_DATA)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    in_use = int(status["VmData"].split()[0]) << 10
    handler = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_S)
    resource.setrlimit(resource.RLIMIT_DATA, (in_use + MOST_MEMORY_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)


def refusal(file: Path, text: str, do: Callable[[str], object]) -> str:
    """What is said of a file with this text; "" where it is valid."""
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        with bounds():
            do(str(file))
    except BadInput as error:
        return error.message or "nothing was said"
    return ""


def plan_of_scenario(name: str) -> None:
    for quick in (False, True):
        plan = resolve(load(name, quick=quick), POLICIES, Choices(quick=quick), "20261122-000000-abcd")
        json.dumps(plan, allow_nan=False)


def plans_of_table(name: str) -> None:
    loaded = tables.load(name)
    for column in list(tables.columns_of(loaded.table, list(POLICIES)).values())[:2]:
        scenario = tables.scenario_of(loaded, loaded.table.rows[0], column)
        resolve(scenario, POLICIES, Choices(), "20261122-000000-abcd")


def plan_of_sweep(name: str) -> None:
    loaded = sweeps.load(name)
    next(sweeps.planned(loaded, POLICIES))


@thorough
@given(mutations.mutated(SCENARIOS, mutations.keys_of(Scenario)))
def test_a_scenario_is_valid_or_refused(file: Path, document: dict[str, Any]) -> None:
    refusal(file, mutations.text_of(document), plan_of_scenario)


@thorough
@given(mutations.mutated(TABLES, mutations.keys_of(Table) + mutations.keys_of(Scenario)))
def test_a_table_is_valid_or_refused(file: Path, document: dict[str, Any]) -> None:
    refusal(file, mutations.text_of(document), plans_of_table)


@thorough
@given(mutations.mutated(SWEEPS, mutations.keys_of(Sweep)))
def test_a_sweep_is_valid_or_refused(file: Path, document: dict[str, Any]) -> None:
    refusal(file, mutations.text_of(document), plan_of_sweep)


CLAIMS = YAML(typ="safe", pure=True).load(SMALL_CLAIMS)


@settings(thorough, max_examples=max(EXAMPLES // 4, 1))
@given(mutations.mutated([CLAIMS], mutations.keys_of(Claims)))
def test_claims_are_valid_or_refused(file: Path, document: dict[str, Any]) -> None:
    refusal(file, mutations.text_of(document), lambda name: load_claims(Path(name)))


@thorough
@given(mutations.torn([STARTUP, mutations.text_of(SWEEPS[0]), mutations.text_of(TABLES[0])]))
@example("a: !!timestamp 2024-99-99\n")
@example("? [a]\n: b\n")
def test_a_torn_text_is_valid_or_refused(file: Path, text: str) -> None:
    for do in (plan_of_scenario, plans_of_table, plan_of_sweep):
        refusal(file, text, do)


@thorough
@given(
    st.sampled_from(["", "name", "links", "links.fast", "links.1.rate", "ncp.policy", "checks.1", "seed", "quick"])
    | st.text(max_size=12),
    st.sampled_from([*mutations.INJECTIONS, *mutations.QUANTITIES, "[[", "{a: 1}", "*x", "&x [*x]"]),
)
def test_set_is_valid_or_refused(file: Path, key: str, value: str) -> None:
    refusal(file, STARTUP, lambda name: load(name, [f"{key}={value}"]))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{NINES}\n{STARTUP}", "aliases (*) expand to more than 20000 values"),
        ("a: " + "[" * 10_000 + "]" * 10_000, "nested deeper than 20"),
        ("a: " + "[" * 30 + "]" * 30, "nested deeper than 20"),
        (f"seed: 0x{'f' * 10_000}\n{STARTUP}", "an integer of 40000 bits"),
        ("#" * (1 << 20), "longer than 32768 characters"),
        (STARTUP.replace("rate: 1024pps", "rate: 1e400pps"), "links.fast.rate: '1e400pps' is larger than any number"),
        (STARTUP.replace("rate: 1024pps", "rate: 1e300pps"), "links.fast.rate: '1e300pps' is outside 0.01pps to"),
        (STARTUP.replace("delay: 50ms", "delay: 1e9s"), "'1e9s' is longer than"),
        (STARTUP.replace("rate: 1024pps", f"rate: '1{' ' * 20_000}x'"), "(20002 characters) is not a quantity"),
        (STARTUP.replace("transfer: 48MiB", "transfer: 9e99GiB"), "is more than 1048576GiB"),
        (STARTUP.replace("tolerance: 0.03", "tolerance: .nan"), "tolerance"),
    ],
    ids=lambda value: value[:20],
)
def test_what_would_take_for_ever_or_mean_nothing_is_refused(file: Path, text: str, says: str) -> None:
    assert text != STARTUP
    said = refusal(file, text, plan_of_scenario)
    assert says in said
    assert said.startswith(str(file))


def test_the_bounds_are_bounds(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without which the tests of this file would find neither a hang nor memory without end."""
    with pytest.raises(MemoryError):
        refusal(file, "", lambda _: bytearray(2 * MOST_MEMORY_BYTES))

    def hang(_: str) -> None:
        while True:
            pass

    monkeypatch.setitem(globals(), "MOST_CPU_S", 0.1)
    with pytest.raises(TimeoutError):
        refusal(file, "", hang)


@pytest.mark.parametrize("assignment", [f"title=[{', '.join(['&a [1, 2, 3]', *['*a'] * 6000])}]", "title=&a [*a]"])
def test_set_takes_no_more_than_a_file(assignment: str) -> None:
    with pytest.raises(BadInput, match=r"--set .*alias"):
        load("startup", [assignment])


def test_an_alias_is_fine_where_it_does_not_multiply(file: Path) -> None:
    same = STARTUP.replace("rate: 1024pps, delay: 50ms", "rate: 1024pps, delay: &d 50ms").replace(
        "rate: 128pps, delay: 50ms", "rate: 128pps, delay: *d"
    )
    assert same.count("*d") == 1
    assert refusal(file, same, plan_of_scenario) == ""


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("{at: 5000s, do: down, link: fast}", ":77: timeline.1.at: 5000 s never comes"),
        ("{at: 1e9s, do: down, link: fast}", "is longer than 168h"),
        (
            "{at: 1s, do: ramp, link: fast, over: 150h, step: 20ms, delay: [1ms, 2ms]}",
            "timeline: it has 27000001 changes",
        ),
    ],
)
def test_an_event_that_never_comes_or_is_too_many(file: Path, event: str, says: str) -> None:
    text = f"{STARTUP}\ntimeline:\n  - {event}\n".replace("transfer: 48MiB", "transfer: 1MiB")
    assert says in refusal(file, text, plan_of_scenario)


def test_an_event_that_may_come_is_fine(file: Path) -> None:
    assert refusal(file, f"{STARTUP}\ntimeline:\n  - {{at: 20s, do: down, link: fast}}\n", plan_of_scenario) == ""


DUMBBELL, LINK_BREAK = (mutations.plain(paths.SCENARIOS / f"{name}.yaml") for name in ("dumbbell", "link-break"))
NAMES: dict[str, tuple[dict[str, Any], tuple[mutations.Step, ...], Callable[[str], None]]] = {
    "scenario": (DUMBBELL, ("name",), plan_of_scenario),
    "topology": (DUMBBELL, ("topology",), plan_of_scenario),
    "link": (DUMBBELL, ("links", 0, "name"), plan_of_scenario),
    "policy": (DUMBBELL, ("ncp", "policy"), plan_of_scenario),
    "congestion control": (DUMBBELL, ("cross_traffic", 0, "congestion_control"), plan_of_scenario),
    "tool": (DUMBBELL, ("cross_traffic", 0, "tool"), plan_of_scenario),
    "session": (DUMBBELL, ("sessions", 0, "name"), plan_of_scenario),
    "host": (DUMBBELL, ("sessions", 0, "sender"), plan_of_scenario),
    "judge": (DUMBBELL, ("checks", 0, "judge"), plan_of_scenario),
    "session of a check": (DUMBBELL, ("checks", 0, "session"), plan_of_scenario),
    "link of a check": (DUMBBELL, ("checks", 3, "link"), plan_of_scenario),
    "link of an event": (LINK_BREAK, ("timeline", 0, "link"), plan_of_scenario),
    "table": (TABLES[0], ("name",), plans_of_table),
    "row": (TABLES[0], ("rows", 0, "name"), plans_of_table),
    "policy of a sweep": (SWEEPS[0], ("policies",), plan_of_sweep),
    "sweep": (SWEEPS[0], ("name",), plan_of_sweep),
}
"""What a user names, of which come paths, interfaces, containers, tags or parts of a query: where it is, and who reads
it."""


@pytest.mark.parametrize("place", NAMES)
def test_names_are_only_names(file: Path, place: str) -> None:
    document, (*above, last), do = NAMES[place]
    for name in mutations.INJECTIONS:
        changed: Any = copy.deepcopy(document)
        node = changed
        for step in above:
            node = node[step]
        node[last] = [name] if place == "policy of a sweep" else name
        assert refusal(file, json.dumps(changed), do), f"{place} {name!r}"


@pytest.mark.parametrize("name", mutations.INJECTIONS)
def test_a_name_on_the_command_line_is_only_a_name(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "results" / "elsewhere"
    outside.mkdir(parents=True)
    (outside / "matrix.json").write_text("{}")
    for asked in (name, "../elsewhere", str(outside)):
        with raises(BadInput, "claims.bad-reference-name"):
            reference_place(asked)
        if not asked:
            continue  # a new study, and all rows
        with raises(BadInput, "resume.bad-id"):
            begin(tmp_path / "results" / "table", "table", {}, asked)
        with raises(BadInput, "table.no-such-part", kind="row"):
            table_run.chosen("row", asked, {"a": 1})
    with pytest.raises(BadInput):
        load("startup", [f"{name}=1"])
    with pytest.raises(BadInput):
        load("startup", [f"links.{name}.delay=1ms"])


def test_a_sweep_has_an_end(file: Path) -> None:
    sweep = mutations.text_of(
        {**SWEEPS[0], "parameters": {f"links.{n}.delay": [f"{ms}ms" for ms in range(100)] for n in ("a", "b", "c")}}
    )
    assert "all combinations are" in refusal(file, sweep, plan_of_sweep)


@pytest.mark.parametrize("name", ["ends in a backslash\\", "two\nlines", "", "x" * 121, "\x00"])
def test_a_checks_name_can_be_a_tag(file: Path, name: str) -> None:
    assert "name: payload," in STARTUP
    said = refusal(file, STARTUP.replace("name: payload,", f"name: {json.dumps(name)},"), plan_of_scenario)
    assert "checks" in said


@pytest.mark.parametrize("path", [*files.scenarios(), *files.links()], ids=lambda path: path.stem)
def test_what_is_shipped_is_valid(file: Path, path: Path) -> None:
    if "file" in str(mutations.plain(path)["topology"]):
        return  # its Python is beside it
    for trace in path.parent.glob("*.trace"):
        shutil.copy(trace, file.parent)
    assert refusal(file, path.read_text(), plan_of_scenario) == ""


def test_the_largest_of_our_own_is_well_within_the_bounds() -> None:
    own = [*files.scenarios(), *files.links(), *files.tables(), *files.sweeps()]
    assert max(len(path.read_text()) for path in own) * 2 < bounded.MOST_CHARACTERS
