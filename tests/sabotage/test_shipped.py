"""What the checks of shipped scenarios do not ask about is noticed in the runs that users make."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.catalogue.counting import SEED_IGNORED
from tests.sabotage.entry import Entry
from tests.sabotage.lab import Lab

STARTUP = "run startup --engine sim"
LINK_BREAK = "run link-break --engine sim"
TABLE = "table speed-table --engine sim --quick --rows 1,7 --columns previous,nkp24"
ALONE = ("all-at-once", "three-settings")
"""Those that are noticed on each push, in one run."""
WITHOUT_LOSS = ("floor-of-4", "three-quarters", "no-losses", "resent-halved", "lost-twice")
"""Those of which a run without loss shows nothing."""
UNKNOWN_OVER_TCP = ("backlog-halved", "window-used-twice", "window-used-halved")
"""Those that no run over TCP shows: a packet is no frame there, and a reader that stops reports nothing."""
FIELDS = [entry for entry in ENTRIES if entry.of == "fields"]
LOSSY = "links=[{name: a, rate: 1024pps, delay: 50ms, loss: 1%, queue: 2 packets}]"


class Shipped(Lab):
    """With the scenarios and tables that are shipped, in place of the laboratory's own."""

    def _question(self) -> None:
        pass


def code_of(entry: Entry, place: Path, *command: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        lab = Shipped(place / "lab", entry, patch)
        lab.set_up()
        return lab.ask(*command).code


@pytest.mark.parametrize(
    "entry", [pytest.param(e, marks=() if e.name in ALONE else pytest.mark.nightly, id=e.name) for e in FIELDS]
)
def test_a_field_is_noticed_in_a_shipped_run(entry: Entry, tmp_path: Path) -> None:
    command = TABLE if entry.name in WITHOUT_LOSS else STARTUP
    assert code_of(entry, tmp_path, *command.split()) == 3


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("command", "entry"),
    [
        pytest.param(command, entry, id=f"{command}-{entry.name}")
        for command in ("run extreme --engine sim", LINK_BREAK, TABLE)
        for entry in FIELDS
        if entry.name not in WITHOUT_LOSS and not (command == LINK_BREAK and entry.name in UNKNOWN_OVER_TCP)
    ],
)
def test_it_is_noticed_in_the_others(entry: Entry, command: str, tmp_path: Path) -> None:
    assert code_of(entry, tmp_path, *command.split()) in (1, 3)


@pytest.mark.parametrize(("lossy", "code"), [(True, 3), (False, 0)])
def test_seeds_that_are_ignored_are_noticed_where_packets_are_lost_by_chance(
    lossy: bool, code: int, tmp_path: Path
) -> None:
    command = [*STARTUP.split(), "--quick", "--repeat", "3", *(["--set", LOSSY] if lossy else [])]
    assert code_of(SEED_IGNORED, tmp_path, *command) == code
