"""The levels at which a saboteur must be caught: each carries out verbs, and gives the verdict as one word."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from testbed.archive.signature import MANIFEST
from testbed.documents import read_json
from testbed.exit_codes import Exit
from tests.sabotage.entry import Change, Entry, Level, Word
from tests.sabotage.lab import Lab, Said
from tests.sabotage.question import TABLE

_WORDS: Mapping[int, Word] = {Exit.PASS: "pass", Exit.FAIL: "fail", Exit.UNTRUSTED: "untrusted"}


def word_of(said: Said) -> Word:
    """By the exit code. Whoever is asked for a run has to make it; a refusal would be the laboratory's own fault."""
    assert said.code in _WORDS, f"ended with {said.code}"
    return _WORDS[said.code]


def judged(said: Said) -> Word:
    """The same of a command over results that are there: where it refuses them, nothing has passed."""
    return _WORDS.get(said.code, "fail")


def run(lab: Lab, entry: Entry, _honest: Lab) -> Word:
    """One run of the scenario."""
    return word_of(lab.ask("run", entry.scenario, "--engine", "sim"))


def repeat(lab: Lab, entry: Entry, _honest: Lab) -> Word:
    """Three, with seeds of their own."""
    return word_of(lab.ask("run", entry.scenario, "--repeat", "3", "--engine", "sim"))


def table(lab: Lab, entry: Entry, _honest: Lab) -> Word:
    """Rows by repetitions, judged by figures, known values and the runs' own checks."""
    return word_of(lab.ask("table", TABLE, "--engine", "sim"))


def all_claims(lab: Lab, entry: Entry, _honest: Lab) -> Word:
    """A claim for each check about a number, of the repeated scenario and of the table."""
    return word_of(lab.ask("all", "--engine", "sim"))


def compare(lab: Lab, entry: Entry, honest: Lab) -> Word:
    """An honest group of runs and a sabotaged one, by all figures that both have."""
    groups = [f"--group=honest={honest.latest(entry.scenario)}", f"--group=new={lab.latest(entry.scenario)}"]
    if (by_the_main_one := judged(lab.ask("compare", *groups))) != "pass":
        return by_the_main_one
    measured = read_json(lab.latest("compare") / "compare.json")["differences"]
    return judged(lab.ask("compare", *groups, "--figures", ",".join(d["figure"] for d in measured)))


def cross_check(lab: Lab, entry: Entry, honest: Lab) -> Word:
    """The sabotaged table in the place of another engine's, beside an honest one."""
    results = [f"--results={engine}={of.latest(TABLE)}" for engine, of in (("sim", honest), ("vkernel", lab))]
    return judged(lab.ask("cross-check", TABLE, "--engines", "sim,vkernel", *results))


def verify(lab: Lab, entry: Entry, honest: Lab) -> Word:
    """The bundle of a result, judged again from the bundle alone. What is confirmed is the verdict that it has."""
    result = lab.latest(entry.scenario)
    if entry.real:  # runs are made to be of another engine, and their table is not
        result = next(result.glob(f"cells/*/runs/{entry.only_seed or 1}/sim-*"), result)
    if entry.forged:
        original = honest.latest(TABLE if entry.of_table else entry.scenario)
        result = Path(shutil.copytree(original, lab.place / "forged", symlinks=True))
        if original not in _confirmed_originals:  # else a refusal of any result at all would count as caught
            assert (said := lab.ask("verify", str(result))).code == Exit.PASS, said.text
            _confirmed_originals.add(original)
        if not entry.in_bundle:
            entry.forged(result)
            return _confirmed(lab.ask("verify", str(result)))
    file = lab.place / "result.zip"
    if (packed := lab.ask("bundle", str(result), "--output", str(file))).code:
        return judged(packed)
    if entry.forged:
        forge(file, entry.forged)
    return _confirmed(lab.ask("verify", str(file)))


_confirmed_originals: set[Path] = set()
"""Honest results of which a copy was verified in this process, before any was forged."""

LEVELS: Mapping[Level, Callable[[Lab, Entry, Lab], Word]] = {
    "run": run,
    "repeat": repeat,
    "table": table,
    "all": all_claims,
    "compare": compare,
    "cross-check": cross_check,
    "verify": verify,
}


def _confirmed(said: Said) -> Word:
    if said.code != Exit.PASS:
        return "fail"
    words = {line.split()[1] for line in said.text.splitlines() if line.startswith("CONFIRMED ")}
    return "untrusted" if "UNTRUSTED" in words else "fail" if "FAIL" in words else "pass"


def forge(file: Path, change: Change) -> None:
    """Change a result inside a bundle, and write its list of checksums again, as a forger would."""
    place = file.with_suffix("")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(place)
    (result,) = [path.parent for path in place.rglob("plan.json")]
    change(result)
    (place / MANIFEST).unlink()
    files = sorted(path for path in place.rglob("*") if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(place)}\n" for path in files]
    (place / MANIFEST).write_text("".join(sums))
    with zipfile.ZipFile(file, "w") as archive:
        for path in [*files, place / MANIFEST]:
            archive.write(path, path.relative_to(place))
