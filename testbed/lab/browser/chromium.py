"""Chromium, driven by its DevTools protocol over a pair of pipes: no port, no driver program, no further package.

What it prints by itself (--dump-dom, --screenshot) tells nothing of a page's errors and requests, nor when a page that
loads by and by is done. Packages that drive it were weighed: Playwright's is 167 MB with a Node of its own, Selenium's
44 MB in 15 packages beside a driver program of the browser's own version.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.errors import CannotRun, RunFailed
from testbed.machine.browser import NAMES, find

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_ON_PIPES = ("sh", "-c", 'exec "$@" 3<&0 4>&1 0</dev/null 1>&2', "sh")
"""Chromium reads commands from descriptor 3 and answers on 4."""
ANSWER_WITHIN_S = 120.0
"""A browser that does not answer for so long has hung, on however busy a machine."""


class NoBrowser(CannotRun):
    """There is no Chromium or Chrome on this machine."""


def none_found() -> NoBrowser:
    """The error where there is none."""
    return NoBrowser(
        "browser.none",
        "no browser: none of {names} is installed",
        "Install one, e.g. apt-get install chromium, or name one with NCP_TESTBED_BROWSER.",
        names=", ".join(NAMES),
    )


class Browser:
    """A browser of its own, with an empty profile that is gone afterwards.

    Raises:
        NoBrowser: there is none.
        RunFailed: it ended or hung.
    """

    def __init__(self) -> None:
        path = find()
        if path is None:
            raise none_found()
        self._profile = tempfile.TemporaryDirectory(prefix="ncp-browser-", ignore_cleanup_errors=True)
        self._log = Path(self._profile.name) / "log"
        environment = {**os.environ, "HOME": self._profile.name, "XDG_CONFIG_HOME": self._profile.name}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*_ON_PIPES, path, *FLAGS, f"--user-data-dir={self._profile.name}/profile", "about:blank"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,
                bufsize=0,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands, self._answers = self._process.stdin, self._process.stdout
        self._number = 0
        self._buffer = b""
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(10.0)
        except (RunFailed, subprocess.TimeoutExpired):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # and what it has started: a session of its own
            self._process.wait()
        finally:
            self._commands.close()
            self._answers.close()
            self._profile.cleanup()

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """A command's result; its events until then are kept for :meth:`events`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        try:
            self._commands.write(json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise RunFailed(
                "browser.ended-before",
                "the browser ended before {method}: {said}",
                method=method,
                said=self._last_words(),
            ) from None
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RunFailed(
                        "browser.refused",
                        "the browser refused {method}: {error}",
                        method=method,
                        error=answer["error"].get("message"),
                    )
                result: dict[str, Any] = answer.get("result", {})
                return result
            self._events.append(answer)

    def open(self, page: Path | str, width: int, height: int = 900) -> str:
        """Show a page (a file, or a URL) in a tab of this width in CSS pixels; returns the tab's session when all of it
        is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = str(self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            session,
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self._events.clear()
        url = page if isinstance(page, str) else page.resolve().as_uri()
        self.call("Page.navigate", session, url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self._events):
            self._events.append(self._next())
        return session

    def events(self, session: str) -> list[dict[str, Any]]:
        """What the tab has told since its page was opened."""
        return [event for event in self._events if event.get("sessionId") == session]

    def evaluate(self, session: str, expression: str) -> Any:
        """A JavaScript expression's value, in JSON's types."""
        answer = self.call("Runtime.evaluate", session, expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RunFailed(
                "browser.evaluation-failed", "the page can't be evaluated: {error}", error=answer["exceptionDetails"]
            )
        return answer["result"].get("value")

    def pdf(self, page: Path, to: Path) -> None:
        """Print a page as its print style asks."""
        session = self.open(page, 1280)
        printed = self.call("Page.printToPDF", session, preferCSSPageSize=True, printBackground=True)
        to.write_bytes(base64.b64decode(printed["data"]))

    def picture(self, session: str, to: Path, clip: tuple[int, int] | None = None) -> None:
        """The whole page, or its upper left of that width and height in CSS pixels; ``to`` ends in .png or .webp."""
        part: dict[str, Any] = {}
        if clip is not None:
            part["clip"] = {"x": 0, "y": 0, "width": clip[0], "height": clip[1], "scale": 1}
        kind = to.suffix.removeprefix(".")
        shot = self.call("Page.captureScreenshot", session, captureBeyondViewport=True, format=kind, **part)
        to.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> dict[str, Any]:
        until_s = time.monotonic() + ANSWER_WITHIN_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until_s - time.monotonic()))
            if not ready:
                raise RunFailed(
                    "browser.does-not-answer",
                    "the browser did not answer for {timeout_s:g} s: {said}",
                    timeout_s=ANSWER_WITHIN_S,
                    said=self._last_words(),
                )
            data = self._answers.read(1 << 20)
            if not data:
                raise RunFailed("browser.ended", "the browser ended: {said}", said=self._last_words())
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        document: dict[str, Any] = json.loads(message)
        return document

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "it said nothing"
