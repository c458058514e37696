"""A share is written in percent: of a bare 0.5 nobody knows whether it is half of the frames or half a percent."""

from pathlib import Path
from typing import Any

import pytest

from testbed import confine, paths
from testbed.errors import BadInput
from testbed.scenario.load import load
from testbed.study.kinds import sweep_file, table_file
from tests.raises import Containing, raises

POLICIES: Any = {name: {"name": name} for name in ("previous", "nkp24", "delivery-rate")}
STARTUP = (paths.SCENARIOS / "startup.yaml").read_text()
RATE = "rate: 1024pps, delay: 50ms"
EVENT = "\ntimeline:\n  - {at: 1s, link: fast, %s}\n"
IN_FILES = {
    "loss": STARTUP.replace(RATE, f"{RATE}, loss: %s"),
    "duplicate": STARTUP.replace(RATE, f"{RATE}, duplicate: %s"),
    "corrupt": STARTUP.replace(RATE, f"{RATE}, corrupt: %s"),
    "reorder": STARTUP.replace(RATE, f"{RATE}, reorder: %s"),
    "enter": STARTUP.replace(RATE, f"{RATE}, burst_loss: {{enter: %s, leave: 10%%}}"),
    "loss_good": STARTUP.replace(RATE, f"{RATE}, burst_loss: {{enter: 1%%, leave: 10%%, loss_good: %s}}"),
    "timeline": STARTUP + EVENT % "do: set, loss: %s",
    "corrupt in the timeline": STARTUP + EVENT % "do: set, corrupt: %s",
    "ramp": STARTUP + EVENT % "do: ramp, over: 2s, loss: [0, %s]",
    "limits": f"{STARTUP}limits: {{rate_error: %s}}\n",
    "quick": STARTUP.replace("  ncp.transfer: 16MiB", "  links.fast.loss: %s"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


@pytest.mark.parametrize("place", IN_FILES)
@pytest.mark.parametrize(
    ("bare", "fix"),
    [
        ("0.5", "write 50% or 0.5%"),
        ("'0.01'", "write 1% or 0.01%"),
        ("1", "write 100% or 1%"),
        ("1e-3", "0.1% or 0.001%"),
    ],
)
def test_a_bare_fraction_is_refused_with_what_it_may_mean(file: Path, place: str, bare: str, fix: str) -> None:
    text = IN_FILES[place].replace("%s", bare).replace("%%", "%")
    file.write_text(text)
    with pytest.raises(BadInput) as error:
        load(str(file), quick=place == "quick")
    line = next(number for number, line in enumerate(IN_FILES[place].splitlines(), start=1) if "%s" in line)
    assert error.value.code == "quantity.bare-fraction"
    assert fix in error.value.message
    assert place == "quick" or error.value.message.startswith(f"{file}:{line}: ")


@pytest.mark.parametrize("place", IN_FILES)
@pytest.mark.parametrize("plain", ["0", "0%", "0.0", "0.5%"])
def test_nothing_and_percents_are_fine(file: Path, place: str, plain: str) -> None:
    file.write_text(IN_FILES[place].replace("%s", plain).replace("%%", "%"))
    load(str(file), quick=place == "quick")


def test_set_is_refused_too() -> None:
    with raises(BadInput, "quantity.bare-fraction", place=Containing("--set links.fast.loss=0.5")):
        load("startup", ["links.fast.loss=0.5"])
    assert load("startup", ["links.fast.loss=0.5%"]).scenario.links[0].loss == 0.005


def test_more_than_all_has_its_sign_missing() -> None:
    with raises(BadInput, "quantity.fraction-outside", place=Containing("links.fast.loss")):
        load("startup", ["links.fast.loss=5"])


def test_tables_sweeps_and_pairings_say_percent(file: Path) -> None:
    table = (paths.SCENARIOS / "tables" / "speed-table.yaml").read_text()
    file.write_text(table.replace("tolerance: 10%", "tolerance: 0.1"))
    assert file.read_text() != table
    with raises(BadInput, "quantity.bare-fraction"):
        table_file.load(str(file))
    sweep = (paths.SCENARIOS / "sweeps" / "loss-policy.yaml").read_text()
    file.write_text(sweep.replace("links.fast.loss: 3%", "links.fast.loss: 0.03"))
    with raises(BadInput, "quantity.bare-fraction", place=Containing("parameters.loss: '3%'")):
        list(sweep_file.planned(sweep_file.load(str(file)), POLICIES))


def test_what_a_result_keeps_is_read_as_it_was_meant(tmp_path: Path) -> None:
    kept = tmp_path / "scenario.yaml"
    kept.write_text(IN_FILES["loss"].replace("%s", "0.5"))
    with raises(BadInput, "quantity.bare-fraction"):
        load(str(kept))
    with confine.to(tmp_path):  # as verify and report read a bundle, or a commit's file
        assert load(str(kept)).scenario.links[0].loss == 0.5
        assert load(str(kept), ["links.slow.loss=0.25"]).scenario.links[1].loss == 0.25
    (tmp_path / "plan.json").write_text("{}")
    assert load(str(kept)).scenario.links[0].loss == 0.5
