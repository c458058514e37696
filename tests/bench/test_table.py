"""What the benchmarks print and write."""

from testbed.lab.table import Section, Target, all_met, as_markdown, as_text, markdown_table, text_table


def section(met: bool | None) -> Section:
    return Section(
        "rtt",
        "Error of the RTT",
        ["link", "error"],
        [["ours", "0.03 ms"], ["a much longer name", "1 ms"]],
        [Target("mean error", "≤ 0.1 ms", "0.03 ms", met)],
        ["kernel stamps"],
    )


def test_columns_are_aligned() -> None:
    lines = text_table(["link", "error"], [["ours", "0.03"], ["peer's", "1"]]).splitlines()
    assert lines == ["link    error", "ours     0.03", "peer's      1"]


def test_markdown_keeps_bars_in_cells_apart() -> None:
    assert markdown_table(["a", "b"], [["x|y", "1"]]).splitlines() == ["| a | b |", "| --- | ---: |", "| x\\|y | 1 |"]


def test_a_section_says_what_was_reached() -> None:
    text = as_text(section(False))
    assert "FAIL  mean error: 0.03 ms (expected: ≤ 0.1 ms)" in text
    assert "a much longer name" in text
    assert "kernel stamps" in text


def test_the_document_has_every_table_and_target() -> None:
    text = as_markdown("Measured here.", [section(True), section(None)])
    assert text.startswith("Measured here.\n\n### Error of the RTT\n\n| link | error |")
    assert text.count("| ours | 0.03 ms |") == 2
    assert "| mean error | ≤ 0.1 ms | 0.03 ms | PASS |" in text
    assert "| mean error | ≤ 0.1 ms | 0.03 ms | – |" in text


def test_only_a_missed_target_fails() -> None:
    assert all_met([section(True), section(None)])
    assert not all_met([section(True), section(False)])
