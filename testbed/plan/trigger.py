"""The trigger of a run, by which dashboards and alerts find nightly runs."""

import os
import re

from testbed.errors import BadInput


def trigger() -> str:
    """The trigger of the run: ``NCP_TESTBED_OCCASION``, else ``manual``.

    Raises:
        BadInput: not a short word.
    """
    text = os.environ.get("NCP_TESTBED_OCCASION", "manual")
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", text):
        raise BadInput(
            "cli.bad-occasion",
            f"NCP_TESTBED_OCCASION={text}: should be a word of at most 20 small letters and digits, like nightly",
        )
    return text
