"""Merging spools: every whole line once, in time order; a cut last line is no point."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from testbed.engines.emulation.telemetry import merge_spools


@given(st.lists(st.lists(st.integers(min_value=0, max_value=10**18), max_size=30), max_size=4))
def test_merge_keeps_every_point_in_time_order(tmp_path_factory, spools: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("spools")
    files = []
    for number, stamps in enumerate(spools):
        file = folder / f"{number}.lp"
        file.write_text("".join(f"m,s={number} v={index}i {stamp}\n" for index, stamp in enumerate(stamps)))
        files.append(file)
    merged = folder / "merged.lp"
    count = merge_spools(files, merged)
    lines = merged.read_text().splitlines()
    assert count == len(lines) == sum(map(len, spools))
    assert [int(line.rsplit(" ", 1)[1]) for line in lines] == sorted(stamp for spool in spools for stamp in spool)
    assert len(set(lines)) == len(lines)


def test_a_line_cut_off_by_a_kill_is_left_out(tmp_path: Path) -> None:
    spool = tmp_path / "sender.lp"
    spool.write_text("m v=1i 1\nm v=2i 2\nm v=3i 17000")
    assert merge_spools([spool, tmp_path / "absent.lp"], tmp_path / "merged.lp") == 2
