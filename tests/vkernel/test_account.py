"""What the host makes of a guest's own account of its run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.engines.vkernel.run import read_account
from testbed.errors import RunFailed, Untrusted
from testbed.message import Message

ENDED: dict[str, Any] = {"error": "the links differ from the plan", "code": "calibration.links-off"}


def account(folder: Path, document: dict[str, Any]) -> Any:
    (folder / "guest.json").write_text(json.dumps(document))
    return read_account(folder, folder, 1)


def test_a_guest_whose_links_are_off_is_untrusted(tmp_path: Path) -> None:
    off = Message("calibration.delay-off", "link fast ab: delay 60.00 ms is +10.00 ms off (limit ±1 ms)")
    with pytest.raises(Untrusted) as raised:
        account(tmp_path, ENDED | {"untrusted": [(off.code, str(off))]})
    assert (raised.value.code, raised.value.reasons) == ("calibration.links-off", [off])


def test_a_guest_that_broke_down_otherwise_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFailed) as raised:
        account(tmp_path, ENDED | {"untrusted": []})
    assert not isinstance(raised.value, Untrusted)
