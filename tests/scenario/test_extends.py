"""``extends``: what one file takes from another, where its mistakes are told, and that results hold all of it."""

from pathlib import Path

import pytest

from testbed.errors import BadInput
from testbed.scenario.load import load
from testbed.scenario.model import Scenario
from tests.plan.test_topologies import plan_of
from tests.raises import Containing, Said

BASE = """name: base
title: A base
links:
  - {name: fast, rate: 1024pps, delay: 50ms}
  - {name: slow, rate: 128pps, delay: 50ms}
ncp: {policy: nkp24, transfer: 1MiB}
checks:
  - {name: payload, judge: payload_intact}
quick: {ncp.transfer: 256KiB}
"""
CHILD = """name: child
extends: base.yaml
links:
  - {name: slow, rate: 256pps}
  - {name: third, rate: 64pps, delay: 5ms}
ncp: {send_window: 1MiB}
"""


def write(folder: Path, **texts: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return str(folder / f"{list(texts)[-1]}.yaml")


def refusal(file: str) -> BadInput:
    with pytest.raises(BadInput) as raised:
        plan_of(file)
    return raised.value


def test_what_it_does_not_say_is_as_in_the_other(tmp_path: Path) -> None:
    found = load(write(tmp_path, base=BASE, child=CHILD)).scenario
    assert (found.name, found.title) == ("child", "A base")
    assert [(x.name, x.rate.pps, x.delay_ms) for x in found.links] == [
        ("fast", 1024, 50),
        ("slow", 256, 50),
        ("third", 64, 5),
    ]
    assert found.ncp
    assert (found.ncp.transfer_bytes, found.ncp.send_window_bytes) == (1 << 20, 1 << 20)
    quick = load(str(tmp_path / "child.yaml"), quick=True)
    assert (quick.scenario.ncp and quick.scenario.ncp.transfer_bytes, quick.overrides) == (
        1 << 18,
        ("ncp.transfer=256KiB",),
    )


def test_several_in_a_row_and_a_shipped_one(tmp_path: Path) -> None:
    child = CHILD.replace("base.yaml", "startup")
    grandchild = "name: third-one\nextends: child.yaml\nlinks:\n  - {name: third, delay: 7ms}\n"
    found = load(write(tmp_path, child=child, grandchild=grandchild)).scenario
    assert [(x.name, x.delay_ms) for x in found.links] == [("fast", 50), ("slow", 50), ("third", 7)]
    assert len(found.checks) == len(load("startup").scenario.checks)


def test_a_result_holds_all_of_it(tmp_path: Path) -> None:
    file = write(tmp_path / "there", base=BASE, child=CHILD)
    alone = write(tmp_path / "alone", scenario=load(file).text)
    assert load(alone).scenario == load(file).scenario
    assert "extends:" not in load(alone).text
    assert load(str(tmp_path / "there" / "base.yaml")).text == BASE


def test_files_are_those_beside_the_file_that_names_them(tmp_path: Path) -> None:
    base = BASE.replace("name: slow,", "name: slow, jitter: {file: samples.txt},")
    write(tmp_path / "there", base=base)
    (tmp_path / "there" / "samples.txt").write_text("1\n2\n")
    plan = plan_of(write(tmp_path / "here", child=CHILD.replace("base.yaml", "../there/base.yaml")))
    assert plan["links"][1]["jitter_file"] == str(tmp_path / "there" / "samples.txt")


@pytest.mark.parametrize(
    ("base", "child", "says"),
    [
        (
            BASE.replace("128pps", "128"),
            CHILD.replace("rate: 256pps", "delay: 1ms"),
            Said("quantity.number-without-unit", place=Containing("base.yaml:5: links.slow.rate"), number=128),
        ),
        (
            BASE,
            CHILD.replace("256pps", "256"),
            Said("quantity.number-without-unit", place=Containing("child.yaml:4: links.slow.rate"), number=256),
        ),
        (
            BASE,
            CHILD.replace("64pps", "64"),
            Said("quantity.number-without-unit", place=Containing("child.yaml:5: links.third.rate"), number=64),
        ),
        (
            BASE,
            CHILD.replace("send_window", "sendwindow"),
            Said("input.unknown-key", place=Containing("child.yaml:6: ncp.sendwindow")),
        ),
        (
            BASE.replace("payload_intact", "payload"),
            CHILD,
            Said("input.wrong-type", place=Containing("base.yaml:8: checks.payload")),
        ),
        (BASE, CHILD.replace("name: child\n", ""), Said("scenario.no-name", path=Containing("child.yaml"))),
        (
            BASE,
            CHILD.replace("base.yaml", "bse.yaml"),
            Said("scenario.no-file", place=Containing("child.yaml:2: extends"), name=Containing("bse.yaml")),
        ),
        (
            BASE,
            CHILD.replace("base.yaml", "[base.yaml]"),
            Said("scenario.bad-extends", place=Containing("child.yaml:2: extends"), value=["base.yaml"]),
        ),
        (
            BASE,
            CHILD.replace("base.yaml", "startap"),
            Said("scenario.not-found", place=Containing("child.yaml:2: extends"), kind="scenario", name="startap"),
        ),
        (
            BASE + "extends: child.yaml\n",
            CHILD,
            Said("scenario.extends-itself", place=Containing("base.yaml:10: extends"), name="child.yaml"),
        ),
        (
            BASE,
            CHILD.replace("base.yaml", "child.yaml"),
            Said("scenario.extends-itself", place=Containing("child.yaml:2: extends"), name="child.yaml"),
        ),
    ],
)
def test_a_mistake_is_told_where_it_is(tmp_path: Path, base: str, child: str, says: Said) -> None:
    says.check(refusal(write(tmp_path, base=base, child=child)))


def test_the_schema_wants_no_more_than_a_name_of_one_that_extends() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(Scenario.model_json_schema(by_alias=True))
    assert validator.is_valid({"name": "mine", "extends": "startup"})
    assert not validator.is_valid({"name": "mine"})
    assert not validator.is_valid({"extends": "startup"})


def test_no_document_keeps_the_key(tmp_path: Path) -> None:
    assert load(write(tmp_path, base=BASE, child=CHILD)).scenario.extends is None
