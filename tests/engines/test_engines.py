"""The engines behind one type: what is true of each, and what each makes of a command line and a plan."""

import os
from pathlib import Path

import pytest

from testbed import engines
from testbed.engines.engine import Engine, Options, Programs
from testbed.errors import BadInput, CannotRun
from testbed.machine import build
from testbed.machine.guest_kernel import Kernel
from testbed.plan import engines as facts
from testbed.scenario.load import load
from tests.raises import Containing, raises
from tests.said import has


def test_each_has_a_file_of_its_name_and_facts() -> None:
    files = {path.stem for path in Path(engines.__file__).parent.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(facts.ENGINES) <= files
    for name, engine in zip(facts.ENGINES, engines.every(), strict=True):
        assert engine.name == name
        assert engine.facts is facts.ENGINES[name]
        assert engine.agent in engine.programs


def test_one_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with raises(BadInput, "engine.unknown", name="ns3", guess=" (known: mininet, vkernel, sim)"):
        engines.named("ns3")
    with raises(BadInput, "engine.unknown", name="ns3"):
        engines.of({"engine": "ns3"})


def test_a_document_that_names_none_was_made_on_real_packets() -> None:
    assert engines.of({}).facts.shows == "real packets"


@pytest.mark.parametrize("engine", engines.every(), ids=lambda engine: engine.name)
def test_one_in_real_time_goes_alone(engine: Engine) -> None:
    assert engine.width() == (len(os.sched_getaffinity(0)) if engine.deterministic() else 1)
    if not engine.facts.virtual_time:
        assert not engine.deterministic()


def test_another_build_of_the_guests_kernel_is_told(exact_kernel: Kernel) -> None:
    guest = engines.named("vkernel")
    here = exact_kernel.identity()
    assert guest.unlike({"engine": {"kernel_sha256": here}}) == []
    (said,) = guest.unlike({"engine": {"kernel_sha256": "0" * 64}})
    assert said.code == "rerun.other-kernel"
    assert has(said, "there", ["0" * 12, here[:12]])
    assert engines.named("sim").unlike({}) == []


def programs_of(engine: Engine) -> Programs:
    binaries = build.build_programs(engine.agent)
    return Programs(binaries, build.policy_facts(binaries[engine.agent]))


def test_what_is_exact_has_one_name_and_another_with_other_end_points() -> None:
    engine = engines.named("sim")
    loaded, programs = load("startup", []), programs_of(engine)
    first, again = (engine.plan(loaded, programs, engine.choices(Options())) for _ in range(2))
    assert first == again
    other = Programs(programs.binaries, programs.policies, code=b"another commit")
    assert engine.plan(loaded, other, engine.choices(Options()))["run"] != first["run"]
    changed = engine.plan(loaded, programs, engine.choices(Options()), lambda plan: plan | {"title": "another"})
    assert changed["run"] != first["run"], "what is changed before a run has its name counts for it"


def test_on_real_packets_no_two_runs_have_one_name() -> None:
    engine = engines.named("mininet")
    loaded, programs = load("startup", []), programs_of(engine)
    names = {engine.plan(loaded, programs, engine.choices(Options(link="relay")))["run"] for _ in range(3)}
    assert len(names) == 3


def test_what_the_simulator_has_not_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engines.named("sim")
    with raises(CannotRun, "sim.runtime-given", runtime="docker"):
        engine.refuse_options(Options(runtime="docker"))
    with raises(CannotRun, "sim.link-given", link="relay"):
        engine.refuse_options(Options(link="relay"))
    loaded = load("dumbbell", [])
    assert not engine.supports(loaded)
    plan = engine.plan(loaded, programs_of(engine), engine.choices(Options()))
    assert engine.unsupported(plan)
    with raises(CannotRun, "engine.refuses", reasons=Containing("needs a kernel's TCP")):
        engine.refuse(plan)


def test_real_packets_are_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with raises(CannotRun, "run.needs-root"):
        engines.named("mininet").refuse_user("startup")
    for name in ("sim", "vkernel"):
        engines.named(name).refuse_user("startup")
