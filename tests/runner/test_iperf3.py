"""What iperf3 leaves is its result, or a failure that names the file."""

from pathlib import Path

import pytest

from testbed.errors import RunFailed
from testbed.runner.iperf3 import read_result


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "iperf3 left no result"),
        ("", "iperf3 left no result"),
        ('{"start": {}', "iperf3 left no result"),
        ('{"error": "unable to connect to server"}', "iperf3: unable to connect to server"),
    ],
)
def test_what_went_wrong_is_told_with_the_file(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "iperf3.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RunFailed, match=why) as failed:
        read_result(path)
    assert failed.value.message.endswith(f"see {path}")


def test_a_result_is_read(tmp_path: Path) -> None:
    path = tmp_path / "iperf3.json"
    path.write_text('{"end": {"sum_sent": {"bytes": 1}}}')
    assert read_result(path)["end"]["sum_sent"]["bytes"] == 1
