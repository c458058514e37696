"""Implementations of NCP at the ends of a session: this project's agent, and npm's packages as they are published."""

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Literal, get_args

from testbed import paths
from testbed.plan.model import Plan, Policy, Session

Code = Literal["ours", "npm-1.0.9", "npm-1.1.2"]
OURS = "ours"
CODES: tuple[str, ...] = get_args(Code)
NPM = tuple(code for code in CODES if code != OURS)
PEER = "peers/npm-ncp"
FOLDER = paths.CHECKOUT / PEER
"""The packages, as its lock file pins them, and ``agent.js``, which runs them in place of ``ncp-agent``."""


@cache
def policies() -> Mapping[str, Policy]:
    """Facts of the packages' windows; ``like`` is the agent's policy whose rule they have."""
    found: list[Policy] = json.loads((FOLDER / "policies.json").read_text())
    return {facts["name"]: facts for facts in found}


def has_npm(plan: Plan) -> bool:
    """Whether any end is npm's."""
    return any("code" in session for session in plan["sessions"])


def rule_of(session: Session) -> str:
    """The agent's policy by whose rule a session's windows move, under whatever name."""
    return session.get("policy_facts", {}).get("like", session["policy"])


def is_about(policies: Collection[str], session: Session) -> bool:
    """Whether what is about these policies (none: all) is about a session."""
    return not policies or session["policy"] in policies or rule_of(session) in policies
