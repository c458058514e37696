"""A picture as a Mermaid flowchart, as GitHub and most wikis draw it. Mermaid finds its own places for things."""

from __future__ import annotations

from collections.abc import Iterable

from testbed.interchange.graph.drawing import Drawing


def to_mermaid(drawing: Drawing) -> str:
    """Mermaid text."""
    # Names of nodes may be words of Mermaid's, such as "end".
    ids = {box.name: f"n{number}" for number, box in enumerate(drawing.boxes, start=1)}
    lines = ["flowchart LR", f"  %% {drawing.title}"]
    for box in drawing.boxes:
        left, right = ("[", "]") if box.role == "router" else ("([", "])")
        lines.append(f"  {ids[box.name]}{left}{_quoted((box.name, box.role))}{right}")
    lines += [f"  {ids[line.a]} ---|{_quoted(line.text)}| {ids[line.b]}" for line in drawing.lines]
    return "\n".join(lines) + "\n"


def _quoted(lines: Iterable[str]) -> str:
    """The text as a label; inside of quotes only these characters have a meaning."""
    escaped = (text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;") for text in lines)
    return '"' + "<br/>".join(escaped) + '"'
