"""YAML as others may have written it: no larger than a second of reading, no deeper or wider than a file of ours."""

import functools
import io
import pickle
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError

from testbed.message import InvalidValue

MOST_CHARACTERS = 1 << 15
"""The largest file of the testbed's own has a third of it; ruamel takes up to a second for as many."""
MOST_VALUES = 20_000
"""The number of values, with each alias counted as the values that it stands for."""
MOST_BITS = 64
DEEPEST = 20
"""Lists and mappings inside each other."""


_SAYS = {
    "expected <block end>": ("it is indented otherwise than the lines before it", False),
    "found character '\\t'": ("a tab; indent with spaces", False),
    "could not find expected ':'": ("a key takes a colon and a blank behind it, as in key: value", True),
    "expected ',' or": ("a bracket is opened here and not closed", True),
    "mapping values are not allowed": ("a key where none can be: is the line indented as its neighbours are?", False),
}
"""Beginnings of what ruamel says, what that means to a user, and whether it means the line where something began."""


class NotYaml(InvalidValue):
    """The mistake of a text; its detail ``line`` (from 1) is there where one is to blame."""


def load(text: str, *, lines: bool = False, most_characters: int = MOST_CHARACTERS) -> Any:
    """The text's document, with ``lines`` as ruamel's types that remember them; raises :class:`NotYaml`.

    A text is read once: ruamel takes milliseconds for fifty lines, and claims, tables and sweeps name the same scenario
    over and over. Each caller has a document of its own, which it may change.
    """
    return pickle.loads(_pickled(text, lines, most_characters))


@functools.lru_cache(maxsize=128)
def _pickled(text: str, lines: bool, most_characters: int) -> bytes:
    return pickle.dumps(_read(text, lines, most_characters))  # `deepcopy` takes longer, and loses comments


def _read(text: str, lines: bool, most_characters: int) -> Any:
    if len(text) > most_characters:
        raise NotYaml("yaml.too-long", f"longer than {most_characters} characters")
    yaml = YAML(typ="rt" if lines else "safe", pure=True)
    yaml.Composer = _Plain
    try:
        document = yaml.load(io.StringIO(text))
    except NotYaml:
        raise
    except MarkedYAMLError as error:
        begins = f"{error.problem}".startswith
        says, from_there = next((said for begin, said in _SAYS.items() if begins(begin)), ("", False))
        mark = (error.context_mark if from_there else None) or error.problem_mark
        line = mark.line + 1 if mark else None
        raise NotYaml("yaml.invalid", f"not valid YAML: {says or error.problem}", line=line) from error
    except Exception as error:  # ruamel's own parser has others for what it can't make of a scalar or a key
        raise NotYaml("yaml.invalid", f"not valid YAML: {error}") from error
    _values(document, {})
    return document


class _Plain(Composer):
    """Stops while the text is read: ruamel takes the square of the depth, and minutes for some kilobytes of ``[``. A
    tag would say what a value is made into, which is for the models to say."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self._depth > DEEPEST:
            raise NotYaml("yaml.too-deep", f"lists and mappings are nested deeper than {DEEPEST}")
        event = self.parser.peek_event()
        if tag := getattr(event, "tag", None):
            line = event.start_mark.line + 1
            raise NotYaml("yaml.tag", f"the tag {tag!r:.60}: leave it out; values are plain", line=line)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _values(node: Any, known: dict[int, int]) -> int:
    """The number of values that a node stands for. ``known`` are those counted before; 0: being counted."""
    if isinstance(node, int) and node.bit_length() > MOST_BITS:
        raise NotYaml("yaml.integer-too-long", f"an integer of {node.bit_length()} bits; {MOST_BITS} at most")
    if not isinstance(node, (dict, list, tuple, set)):
        return 1
    if known.get(id(node)) == 0:
        raise NotYaml("yaml.alias-of-itself", "an alias (*) refers to something that contains it")
    if id(node) not in known:
        known[id(node)] = 0
        children = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_values(child, known) for child in children)
    if known[id(node)] > MOST_VALUES:
        raise NotYaml("yaml.too-many-values", f"aliases (*) expand to more than {MOST_VALUES} values")
    return known[id(node)]
