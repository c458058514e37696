"""YAML as others may have written it: no larger than a second of reading, no deeper or wider than a file of ours."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError

MOST_CHARACTERS = 1 << 15
"""The largest file of the testbed's own has a third of it; ruamel takes up to a second for as many."""
MOST_VALUES = 20_000
"""With each alias counted as what it stands for."""
MOST_BITS = 64
DEEPEST = 20
"""Lists and mappings inside each other."""


class NotYaml(ValueError):
    """What is wrong with a text, with its line (from 1) where one is to blame."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def load(text: str, *, lines: bool = False, most_characters: int = MOST_CHARACTERS) -> Any:
    """The text's document, with ``lines`` as ruamel's types that remember them; raises :class:`NotYaml`."""
    if len(text) > most_characters:
        raise NotYaml(f"longer than {most_characters} characters")
    yaml = YAML(typ="rt" if lines else "safe", pure=True)
    yaml.Composer = _NotTooDeep
    try:
        document = yaml.load(io.StringIO(text))
    except NotYaml:
        raise
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise NotYaml(f"not valid YAML: {error.problem}", line) from error
    except YAMLError as error:
        raise NotYaml(f"not valid YAML: {error}") from error
    except Exception as error:  # ruamel's own parser has others for what it can't make of a scalar or a key
        raise NotYaml(f"not valid YAML: {error}") from error
    _values(document, {})
    return document


class _NotTooDeep(Composer):
    """Stops while the text is read: ruamel takes the square of the depth, and minutes for some kilobytes of ``[``."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self._depth > DEEPEST:
            raise NotYaml(f"lists and mappings are nested deeper than {DEEPEST}")
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _values(node: Any, known: dict[int, int]) -> int:
    """How many values a node stands for. ``known`` are those counted before; 0: that is being counted."""
    if isinstance(node, int) and node.bit_length() > MOST_BITS:
        raise NotYaml(f"an integer of {node.bit_length()} bits; {MOST_BITS} at most")
    if not isinstance(node, (dict, list, tuple, set)):
        return 1
    if known.get(id(node)) == 0:
        raise NotYaml("an alias (*) refers to something that contains it")
    if id(node) not in known:
        known[id(node)] = 0
        children = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_values(child, known) for child in children)
    if known[id(node)] > MOST_VALUES:
        raise NotYaml(f"aliases (*) expand to more than {MOST_VALUES} values")
    return known[id(node)]
