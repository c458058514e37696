"""What iperf3 leaves is its result, or a failure that names the file."""

from pathlib import Path

import pytest

from testbed.errors import RunFailed
from testbed.runtime.iperf3 import read_result
from tests.raises import Said, raises


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, Said("iperf3.no-result", name="iperf3")),
        ("", Said("iperf3.no-result", name="iperf3")),
        ('{"start": {}', Said("iperf3.no-result", name="iperf3")),
        (
            '{"error": "unable to connect to server"}',
            Said("iperf3.failed-in-run", name="iperf3", error="unable to connect to server"),
        ),
    ],
)
def test_what_went_wrong_is_told_with_the_file(tmp_path: Path, text: str | None, why: Said) -> None:
    path = tmp_path / "iperf3.json"
    if text is not None:
        path.write_text(text)
    with raises(RunFailed, why) as failed:
        read_result(path)
    assert failed.value.message.endswith(f"see {path}")


def test_a_result_is_read(tmp_path: Path) -> None:
    path = tmp_path / "iperf3.json"
    path.write_text('{"end": {"sum_sent": {"bytes": 1}}}')
    assert read_result(path)["end"]["sum_sent"]["bytes"] == 1
