"""Files as nobody should write them: a shipped one with some of its values, keys or lines changed for others."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel
from ruamel.yaml import YAML

Step = str | int

INJECTIONS = [
    "../../../etc/passwd",
    "/etc/shadow",
    "..",
    ".",
    "a/b",
    "a\x00b",
    "a\nb",
    "$(reboot)",
    "`reboot`",
    "; reboot",
    "' OR 1=1 --",
    '"; DROP DATABASE ncp_testbed; --',
    "x,run=other value=1",
    "<script>alert(1)</script>",
    "{{ 7*7 }}",
    "%s%n",
    "-rf",
    "--privileged",
    "a" * 300,
    "é",
    "\u202e",
    "",
]
NUMBERS: list[Any] = [
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64,
    -(2**63),
    10**30,
    0.0,
    -0.5,
    1e-300,
    1e300,
    float("inf"),
    float("nan"),
    True,
]
QUANTITIES = [
    "1e400pps",
    "1e9s",
    "-1ms",
    "0ms",
    "0pps",
    "1e-300bit",
    "999999gbit",
    "1e30GiB",
    "9" * 400 + "ms",
    "1 parsec",
    "101%",
    "-1%",
    "1e6x bdp",
    "1e30 packets",
    "nan ms",
    "5000s",
    "1ns",
    "10mbit",
    "1KiB",
    "50ms",
]
ODD: list[Any] = [None, [], {}, [[]], {"a": {}}, [None], {"name": "x"}, [1, "x", {}]]

values = st.one_of(
    st.sampled_from(INJECTIONS),
    st.sampled_from(NUMBERS),
    st.sampled_from(QUANTITIES),
    st.sampled_from(ODD),
    st.text(max_size=20),
    st.integers(),
    st.floats(),
    st.lists(st.integers(-2, 3), max_size=3),
)


def plain(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(path.read_text())
    return loaded


def keys_of(model: type[BaseModel]) -> list[str]:
    """All keys that the model's JSON Schema knows, at any depth."""
    schema = model.model_json_schema(by_alias=True)
    sections = [schema, *schema.get("$defs", {}).values()]
    return sorted({key for section in sections for key in section.get("properties", {})})


def places(node: Any, at: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The paths of all values below a node."""
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        yield (*at, key)
        yield from places(value, (*at, key))


@st.composite
def mutated(draw: st.DrawFn, documents: list[dict[str, Any]], keys: list[str]) -> Any:
    """One of the documents with one to four changes; ``keys`` are those that it may also have."""
    document: Any = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 4))):
        known = list(places(document))
        if not known:
            break
        *above, last = draw(st.sampled_from(known))
        parent: Any = document
        for step in above:
            parent = parent[step]
        match draw(st.sampled_from(["value", "value", "value", "remove", "copy", "key", "add"])):
            case "value":
                parent[last] = copy.deepcopy(draw(values))
            case "remove":
                del parent[last]
            case "copy" if isinstance(parent, list):
                parent.append(copy.deepcopy(parent[int(last)]))
            case "key" if isinstance(parent, dict):
                parent[draw(st.sampled_from(keys))] = parent.pop(last)
            case "add" if isinstance(parent, dict):
                parent[draw(st.sampled_from(keys))] = copy.deepcopy(draw(values))
    return document


def text_of(document: dict[str, Any]) -> str:
    out = io.StringIO()
    YAML(typ="safe", pure=True).dump(document, out)
    return out.getvalue()


@st.composite
def torn(draw: st.DrawFn, texts: list[str]) -> str:
    """The text of one of them with characters put in, left out or cut off."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        put = draw(
            st.sampled_from(
                [
                    "&a ",
                    "*a ",
                    "<<: ",
                    "!!python/name:os.system ",
                    "!!binary ",
                    "!!set ",
                    "? ",
                    "[",
                    "{",
                    "\t",
                    "|",
                    "- ",
                    "---\n",
                    "...",
                    '"',
                    "'",
                    ": ",
                    "%",
                    "2024-99-99",
                    "0x",
                    "1_0",
                    "\u2028",
                ]
            )
            | st.text(max_size=4)
        )
        text = text[:at] + put + text[at + draw(st.integers(0, 3)) :]
    return text
