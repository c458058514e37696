"""What varies is replaced, each rule is needed, and nothing else is touched."""

from pathlib import Path

import pytest

from testbed import paths
from tests.golden.transcripts import placeholders
from tests.golden.transcripts.placeholders import RULES, with_placeholders

HERE = Path("/tmp/a/here")

EXAMPLES = {
    "\x1b[1mUsage\x1b[0m": "Usage",
    "PASS all 20261124-083229-0a1b\n": "PASS all <run>\n",
    "PASS startup sim-092652a44137\n": "PASS startup <sim run>\n",
    "small-sweep sweep-092652a44137: 4 runs\n": "small-sweep <sweep run>: 4 runs\n",
    "  simulate               … 12 s of 43 s\nPASS\n": "PASS\n",
    "  build                   17.9 s\n": "  build                  <seconds> s\n",
    "  simulate                 0.2 s  14.5 virtual s in 0.03 s of CPU (575 × real time)\n": (
        "  simulate               <seconds> s  14.5 virtual s in <seconds> s of CPU (<factor> × real time)\n"
    ),
    "  build                  failed after 3.0 s\n": "  build                  failed after <seconds> s\n",
    '{"event": "step_ended", "step": "build", "seconds": 0.012, "note": "", "failed": false}\n': (
        '{"event": "step_ended", "step": "build", "seconds": <seconds>, "note": "", "failed": false}\n'
    ),
    "  4 runs in 4.6 s, 1.14 s each\n": "  4 runs in <seconds> s, <seconds> s each\n",
    "  [1/1] startup: pass, 4 s\n": "  [1/1] startup: pass, <seconds> s\n",
    '{"verdict": "pass", "at": "2026-11-24T08:32:29+00:00"}': '{"verdict": "pass", "at": "<time>"}',
    "  [1/4] row near: 0.4947 MiB/s, pass  about 3 s left\n": "  [1/4] row near: 0.4947 MiB/s, pass\n",
    '"of": 4, "left_s": 12.5}': '"of": 4, "left_s": <seconds>}',
    "tiny.zip, 0.4 MiB\nTo check it": "tiny.zip, <size> MiB\nTo check it",
    "by a key (SHA256:VB252xiPObnZzST6F2NXBoC2B85TVE/gsfCKgMvcjLs)": "by a key (<key>)",
    "not checked commit: 1b4c8c313193 had changes": "not checked commit: <commit> had changes",
    "repeated by commit 1b4c8c313193 with changes that are not committed: all": "repeated by commit <commit>: all",
    "are the same bytes (2ba7851585878dca)": "are the same bytes (<digest>)",
    f"{HERE}/results and {HERE.parent}/state/cluster": "<here>/results and <state>/cluster",
    f"{paths.CHECKOUT}/scenarios/startup.yaml": "<checkout>/scenarios/startup.yaml",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_varies_is_replaced(text: str) -> None:
    assert with_placeholders(text, HERE) == EXAMPLES[text]


@pytest.mark.parametrize("number", range(len(RULES)), ids=lambda number: RULES[number][1])
def test_each_rule_is_needed(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placeholders, "RULES", (*RULES[:number], *RULES[number + 1 :]))
    assert any(with_placeholders(text, HERE) != right for text, right in EXAMPLES.items())


@pytest.mark.parametrize(
    "text",
    [
        "pass  windows in ratio: Settled within ±20% of 8 after 10.3 s, counted from 0 s; asked at most 12 s.\n",
        "payload: 16,777,216 bytes arrived with the sender's SHA-256 (38f823a38b30…).\n",
        "ncp.send_window=512KiB nkp24 seed 1  3 virtual s\n",
        "24 runs, 3.0 min of transfer\n",
        '{"name": "startup", "seconds": 42.9}\n',
        '{"event": "happened", "at_s": 3.208643117, "kind": "receive_end"}\n',
        "goodput_mib_s     0.6204       0.6204       +0.0%  no difference shown\n",
        "CONFIRMED 74 FILES bundle\n",
    ],
)
def test_nothing_else_is_touched(text: str) -> None:
    assert with_placeholders(text, HERE) == text


def test_of_samples_the_last_of_each_connection_stays() -> None:
    def sample(connection: str, t_s: float) -> str:
        return f'{{"event": "sample", "t_s": {t_s}, "session": "s1", "connection": "{connection}"}}\n'

    before = [sample("1", 1.0), sample("2", 1.0), '{"event": "happened"}\n', sample("1", 2.0), sample("2", 2.0)]
    assert with_placeholders("".join(before), HERE) == "".join(before[2:])
