"""The pages of docs/results/ that have a template are those of today's data, and no figure in a template is typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from tests.docs import results


@pytest.mark.parametrize("name", results.PAGES)
def test_a_page_is_what_its_template_and_the_data_give(name: str) -> None:
    text = (paths.CHECKOUT / "docs" / "results" / name).read_text(encoding="utf-8")
    assert text == results.rendered(name), "python -m tests.docs.results writes it anew"


def test_pages_that_say_so_are_generated() -> None:
    folder = paths.CHECKOUT / "docs" / "results"
    assert [p.name for p in sorted(folder.glob("*.md")) if results.NOTE in p.read_text()] == list(results.PAGES)


@pytest.fixture
def forget() -> Any:
    """Nothing that was read is kept for other tests."""
    yield
    for read in (results.document, results.rows):
        read.cache_clear()


def test_a_changed_figure_in_a_table_makes_the_page_old(monkeypatch: pytest.MonkeyPatch, forget: None) -> None:
    as_it_is = results.rendered("ndn.md")
    document = results.document("reference/ndn-tunnels-2026-11-24/table.json")
    cell = document["rows"][0]["cells"]["rtt_ms"]["hackathon"]
    monkeypatch.setitem(cell, "median", cell["median"] + 1)
    assert results.rendered("ndn.md") != as_it_is


def test_a_changed_figure_in_a_csv_file_makes_the_page_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forget: None
) -> None:
    as_it_is = results.rendered("buffers.md")
    (tmp_path / "reference").mkdir()
    for folder in (results.DATA / "reference").iterdir():
        (tmp_path / "reference" / folder.name).symlink_to(folder)
    name = "queue-sizes-2026-11-27"
    (tmp_path / "reference" / name).unlink()
    (tmp_path / "reference" / name).mkdir()
    for file in (results.DATA / "reference" / name).iterdir():
        text = file.read_text().replace("vkernel,1000,nkp24,0.4647", "vkernel,1000,nkp24,0.4747")
        (tmp_path / "reference" / name / file.name).write_text(text)
    monkeypatch.setattr(results, "DATA", tmp_path)
    results.rows.cache_clear()
    assert results.rendered("buffers.md") == as_it_is.replace("0.465", "0.475", 1).replace(
        "| – | 0.52 |", "| – | 0.53 |"
    )


def test_a_changed_figure_of_a_benchmark_makes_the_page_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    as_it_is = results.rendered("links.md")
    for run in ("bench-links-2026-11-21", "bench-links-2026-11-23"):
        text = (results.DATA / "reference" / run / "bench.txt").read_text(encoding="utf-8")
        (tmp_path / "reference" / run).mkdir(parents=True)
        (tmp_path / "reference" / run / "bench.txt").write_text(text.replace("0.024 (0.024", "0.026 (0.024"))
    monkeypatch.setattr(results, "DATA", tmp_path)
    results.bench.cache_clear()
    found = results.rendered("links.md")
    results.bench.cache_clear()
    assert found == as_it_is.replace("0.024 (0.024", "0.026 (0.024").replace("0.025 / 0.024 ms", "0.025 / 0.026 ms")


def test_what_the_readme_says_of_links_holds() -> None:
    readme = " ".join((paths.CHECKOUT / "README.md").read_text(encoding="utf-8").split())
    said = re.search(r"off by less than ([\d.]+) ms of round trip \(mean\) and ([\d.]+)% of rate", readme)
    run, rtts = "bench-links-2026-11-23", ("2 ms", "50 ms", "500 ms")
    errors = [results.bench(run, "Error of the round-trip time", "mean error", rtt, "ncp-testbed") for rtt in rtts]
    assert said
    assert max(float(error.split()[0]) for error in errors) < float(said[1])
    assert results.worst_rate(run, "ncp-testbed") < float(said[2])


@pytest.mark.parametrize("name", results.PAGES)
def test_no_figure_is_typed(name: str) -> None:
    assert results.typed(results.PAGES[name].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("It reaches 0.944 MiB/s in row 7.", ["0.944"]),
        ("It reaches {{ 0.944 | fixed(2) }} MiB/s.", ["0.944"]),
        ('It reaches {{ table("a-2026-11-21").of("7", "nkp24") | fixed(3) }} MiB/s.', []),
        ("It takes 12% less.", ["12"]),
        ("{# set-up: 8 MiB; 50 ms #}\nIt sends 8\nMiB over 50 ms, in 1.2 s.", ["1.2"]),
        ("{# set-up: 8 MiB #}\n18 MiB, 8 MiB/s, 8 MiBs", ["18", "8", "8"]),
        ("Rows 1 to 6, row 7′, RFC 9743, NKP-0024, nkp24, Linux 6.12, in 2017", []),
        ("`--repeat 3` and [a](b.md#row-5)\n```\n0.944\n```\n", []),
    ],
)
def test_a_typed_figure_is_found(template: str, found: list[str]) -> None:
    assert results.typed(template) == found


def test_numbers_as_they_are_printed() -> None:
    cell = results.Cell(1.0, 0.5, 1.5, 3, (0.6, 1.4, 0.75))
    assert (results.fixed(1234.56, 1), results.fixed(-0.5, 1), results.fixed(-0.001, 2)) == ("1,234.6", "−0.5", "0.00")
    assert (results.ranged(cell, 1), results.span(cell, 1)) == ("1.0 (0.5 to 1.5)", "0.5–1.5")
    assert (results.with_interval(cell, 1), results.with_interval(cell._replace(interval=None), 1)) == (
        "1.0 (0.6 to 1.4)",
        "1.0",
    )
    assert (results.percent(0.123), results.more(1.5)) == ("12%", "50%")
    assert results.best([0.123, 0.124, 0.2], 1) == ["0.1", "0.1", "**0.2**"]
    assert results.best([1.31, 1.34, 2.0], 1, least=True) == ["**1.3**", "**1.3**", "2.0"]


def test_prose_is_broken_into_lines_and_the_rest_is_not() -> None:
    words = "word " * 30
    made = results.filled(
        f"# {words}\n\n{words}\nmore\n\n| {words} |\n\n- {words}\n  end\n- b\n\n```sh\n{words}\n```\n"
    )
    assert [line for line in made.splitlines() if len(line) > 120] == [f"# {words}", f"| {words} |", words]
    assert "\n- b\n\n```sh\n" in made
    assert "\n  word" in made
