"""A shell in a guest, at a terminal as a user has it."""

import os
import pty
import re
import select
import sys
import time

from testbed import paths
from testbed.machine.guest_kernel import Kernel

PROMPT = rb"bash-[0-9.]+# $"
LIMIT_S = 300.0
"""Only that a shell that hangs ends the test."""


class Terminal:
    """``./run.sh guest`` with a terminal of its own."""

    def __init__(self) -> None:
        self.said = b""
        self.process, self.end = pty.fork()
        if self.process == 0:
            os.chdir(paths.CHECKOUT)
            os.execv(sys.executable, [sys.executable, "-m", "testbed", "guest"])

    def type(self, keys: bytes, until: bytes) -> bytes:
        """What is said after ``keys`` up to ``until``, a pattern."""
        os.write(self.end, keys)
        self.said = b""
        return self.wait(until)

    def wait(self, until: bytes) -> bytes:
        """What is said up to ``until``."""
        give_up_s = time.monotonic() + LIMIT_S
        while not re.search(until, self.said):
            assert time.monotonic() < give_up_s, self.said
            if select.select([self.end], [], [], 1)[0]:
                self.said += os.read(self.end, 4096)
        return self.said

    def close(self) -> int:
        """The exit code."""
        while True:
            try:
                if not os.read(self.end, 4096):
                    break
            except OSError:  # the terminal is gone with the last of its processes
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_control_c_ends_what_runs_and_the_exit_code_is_the_shells(exact_kernel: Kernel) -> None:
    terminal = Terminal()
    terminal.wait(PROMPT)
    assert b"/dev/tty0" in terminal.type(b"tty\n", rb"tty0\r\n.*" + PROMPT)
    terminal.type(b"ping 127.0.0.1\n", rb"icmp_seq=3")
    terminal.type(b"\x03", rb"packets transmitted[^#]*" + PROMPT)
    terminal.type(b"sh -c 'echo on; while :; do :; done'\n", rb"\ron\r\n")
    terminal.type(b"\x03", PROMPT)
    assert b"code 130" in terminal.type(b"echo code $?\n", rb"code \d+")
    os.write(terminal.end, b"exit 7\n")
    assert terminal.close() == 7
