"""Claims of the sources that do not reproduce, and why, from ``data/published/claims.yaml``."""

from __future__ import annotations

import textwrap

from testbed.study.kinds.claims_file import Claim, load
from tools.reference.markdown import generated

INTRODUCTION = """\
Most claims of the five sources hold. These don't in their source's own set-up, with the cause that was found. How they
are decided, and how often each engine agreed: [claims](claims.md), [reference results](../data/reference/README.md).
What holds with something changed is in the pages of [NKP-0024](nkp-0024.md), [TCP](tcp.md) and [NDN](ndn.md); why the
proposal's own rule says otherwise about latency, in [the law](law.md#its-solution)."""


def page() -> str:
    """The page's text."""
    claims = load()
    parts = []
    for key, source in claims.sources.items():
        own = {name: c for name, c in claims.claims.items() if c.source == key and c.kind == "claim"}
        wrong = {name: c for name, c in own.items() if c.xfail}
        put_right = [c.text for c in claims.claims.values() if c.source == key and c.kind == "correction"]
        if wrong or put_right:
            head = f"## {source.title}\n\n{source.by}. Claims: {len(own)}; not reproduced: {len(wrong)}."
            parts += [head, *(_claim(name, each) for name, each in wrong.items())]
        if put_right:
            parts += ["What holds instead, or beside it:", "\n".join(map(_filled, (f"- {text}" for text in put_right)))]
    return generated("What does not reproduce", INTRODUCTION, *parts)


def _claim(name: str, claim: Claim) -> str:
    reported = f"**{claim.text}** Published: {claim.published}. " if claim.published else f"**{claim.text}** "
    run = f"Decided by `./run.sh {claim.run}`, as `{name}`."
    cause = claim.xfail.cause if claim.xfail else ""
    return _filled(f"{reported}{cause} {run}")


def _filled(text: str) -> str:
    return textwrap.fill(text, 120, subsequent_indent="  " * text.startswith("- "), break_on_hyphens=False)
