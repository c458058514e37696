"""Examples of the pages, carried out: files that they show hold, and commands print what stands below them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from testbed import paths
from testbed.documents import read_json
from testbed.engines.vkernel.run import GuestRun
from tests.docs.test_pages import DOCS

PAGES_WITH_OUTPUT = ("scenarios.md", "studies.md", "verdicts.md", "artifact.md")
PAGES_OF_GUESTS = ("engines.md", "links.md", "guest.md", "trust.md")
EXIT_CODES = {"FAIL ": 1, "UNTRUSTED ": 3, "error: ": 4}
"""Of commands, by how the last line that a page shows of them begins; an error is the engine's, which can't."""
OF_A_RUN = "name: example\ntitle: An example\nchecks: [{name: payload, judge: payload_intact}]\n"
DUMBBELL = (
    f"{OF_A_RUN}links: [{{name: core, rate: 16mbit, delay: 10ms, queue: 64KiB}}]\n"
    "ncp: {policy: nkp24, transfer: 1MiB}\n"
)
"""What the fragment about dumbbells leaves out."""


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def example(page: str, start: str) -> str:
    """The block of YAML that begins so."""
    (found,) = [block for block in blocks(page, "yaml") if block.startswith(start)]
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where commands are given, with the files that pages show, and without a database."""
    (tmp_path / "run.sh").write_text(f'#!/bin/sh\nexec {paths.CHECKOUT}/run.sh "$@"\n')
    (tmp_path / "run.sh").chmod(0o755)
    for page in PAGES_WITH_OUTPUT:
        for block in blocks(page, "yaml"):
            if block.startswith("name: "):
                (tmp_path / f"{YAML(typ='safe').load(block)['name']}.yaml").write_text(block)
    return tmp_path


def carried_out(command: str, folder: Path, exit_code: int = 0) -> str:
    """What a command prints in the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NCP_TESTBED_")}
    own = {"RESULTS": folder / "results", "STATE": folder / "state", "INFLUX_PORT": 18086}
    environment = kept | {f"NCP_TESTBED_{name}": str(value) for name, value in own.items()}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == exit_code, done.stdout
    return done.stdout


def lacking(shown: str, printed: str) -> list[str]:
    """The shown lines that were not printed; what ``…`` or capitals of an example stand for may be anything, and runs
    may end in any order."""
    words, shown = (re.sub(r"\[\d+/", "[N/", text) for text in (" ".join(printed.split()), shown))
    patterns = [
        re.escape(" ".join(line.split())).replace("…", ".*?") for line in shown.splitlines() if line.strip(" …")
    ]
    return [pattern for pattern in patterns if not re.search(pattern.replace("FILES", r".*?"), words)]


def differing(page: str, folder: Path) -> list[str]:
    """The shown lines that the page's commands do not print."""
    found = []
    for block in blocks(page, "console"):
        for given in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = given.partition("\n")
            ends = [code for start, code in EXIT_CODES.items() if re.search(f"^{start}", shown, re.MULTILINE)]
            found += lacking(shown, carried_out(command, folder, min(ends, default=0)))
    return found


@pytest.mark.runs
@pytest.mark.parametrize("page", PAGES_WITH_OUTPUT)
def test_commands_print_what_the_page_shows(page: str, folder: Path) -> None:
    if page == "verdicts.md":
        carried_out("./run.sh startup --engine sim", folder)
    assert differing(page, folder) == []


@pytest.mark.usefixtures("exact_kernel")
@pytest.mark.parametrize("page", PAGES_OF_GUESTS)
def test_commands_in_a_guest_print_what_the_page_shows(page: str, folder: Path) -> None:
    assert differing(page, folder) == []


@pytest.mark.runs
@pytest.mark.parametrize("start", ["name: two-links", "name: farther"])
def test_a_scenario_of_the_page_passes(start: str, folder: Path) -> None:
    name = start.removeprefix("name: ")
    assert f"PASS {name}" in carried_out(f"./run.sh ./{name}.yaml --engine sim", folder)


@pytest.mark.runs
@pytest.mark.parametrize("fragment", [("scenarios.md", "topology: graph"), ("links.md", "timeline:")])
def test_a_fragment_makes_a_scenario_that_passes(fragment: tuple[str, str], folder: Path) -> None:
    rest = "ncp: {policy: nkp24, transfer: 1MiB}\n"
    if fragment[0] == "links.md":
        rest += "links: [{name: slow, rate: 256pps, delay: 5ms}]\n"
    (folder / "example.yaml").write_text(OF_A_RUN + rest + example(*fragment))
    assert "PASS example" in carried_out("./run.sh ./example.yaml --engine sim", folder)


def test_the_dumbbell_of_the_page_passes_in_a_guest(guest_run: Callable[..., GuestRun], tmp_path: Path) -> None:
    (tmp_path / "example.yaml").write_text(DUMBBELL + example("scenarios.md", "topology: dumbbell"))
    run = guest_run(str(tmp_path / "example.yaml"))
    assert read_json(run.folder / "verdict.json")["verdict"] == "pass"


def test_a_line_that_is_not_printed_is_found() -> None:
    printed = "  pass    payload: 8,192 bytes arrived\nPASS mine sim-0123\n"
    assert lacking("  pass payload: … bytes arrived\n  …\nPASS mine sim-…\n", printed) == []
    assert lacking("FAIL mine sim-…\n", printed) == [r"FAIL\ mine\ sim\-.*?"]
