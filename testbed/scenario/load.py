"""Reads a scenario file into the model; every error names file, line, field, value and what would be right."""

import difflib
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from testbed import confine
from testbed.documents import named
from testbed.errors import BadInput
from testbed.message import InvalidValue, Lines, Message
from testbed.plan import codes
from testbed.scenario import bounded, files, in_python
from testbed.scenario.extended import KEY, Place, Whole, extended, places
from testbed.scenario.files import read
from testbed.scenario.model import Scenario
from testbed.scenario.overrides import apply_override, split_assignment
from testbed.scenario.quantities import OF_A_USER
from testbed.scenario.quick import apply_quick

Model = TypeVar("Model", bound=BaseModel)

WITH_PARTS = {"$ref", "properties", "items", "discriminator"}
"""Keywords of a JSON Schema of what has keys or items."""
LIST, KEYS = "should be a list, like [1, 2] or a line with a dash for each entry", "should be keys with values"
SHAPES = {"list_type": LIST, "tuple_type": LIST, "dict_type": KEYS, "model_type": KEYS, "model_attributes_type": KEYS}
"""Words for types that Pydantic tells in words of Python."""
ONE_WAY = re.compile("direction|(^|_)(ab|ba|up|down|upload|download|forward|reverse|back)(_|$)")
"""Parts of keys that somebody gives a link which is not the same in both directions."""


@dataclass(frozen=True)
class LoadedScenario:
    """A validated scenario, its file, the file's text as read, and the overrides applied to it."""

    scenario: Scenario
    path: Path
    text: str
    overrides: tuple[str, ...]
    changed: bool = True
    """Whether any of the overrides is not the file's own (of its ``quick`` section), or the file has the name of a
    shipped scenario and is another: it is not what that is known for."""
    program: str | None = None
    """The text of the Python file that it comes from."""
    places: Mapping[tuple[str, ...], Place] = field(default_factory=dict)
    """Files and lines of its parts, where these are known."""

    def place_of(self, *names: str) -> str:
        """``mine.yaml:7: links.fast.rate``: a part of it, for messages."""
        return _place_of(self.path, self.places, names, self.overrides)


def load(name: str, assignments: Sequence[str] = (), *, quick: bool = False) -> LoadedScenario:
    """Read, override and validate; raises :class:`BadInput`.

    ``assignments`` are ``key=value`` texts of ``--set``; those of the file's ``quick`` section come first.
    """
    path, document, applied = document_of(name, assignments, quick=quick)
    scenario = validated(Scenario, path, document, applied)
    program = read(path) if path.suffix == files.IN_PYTHON else None
    own = assignments or codes.OWN.search(str(applied))
    changed = bool(own) or files.has_shipped_name(path, scenario.name, files.scenarios())
    where = document.places if isinstance(document, Whole) else places(document, path)
    return LoadedScenario(scenario, path, whole_text(path), tuple(applied), changed, program, where)


def document_of(name: str, assignments: Sequence[str], *, quick: bool) -> tuple[Path, dict[str, Any], list[str]]:
    """A scenario's file, its document with ``quick`` and ``assignments`` applied, and what was applied."""
    path, document = _parsed(name)
    document = extended(path, document, _base)
    applied: list[str] = []
    if quick:
        applied += apply_quick(path, document)
    for assignment in assignments:
        key, value = split_assignment(assignment)
        full_key = apply_override(document, key, value, origin="--set")
        applied.append(f"{full_key}={value}")
    ncp = document.get("ncp")
    has_code = isinstance(ncp, dict) and "code" in ncp
    if has_code and codes.keep_in(ncp, path, _place_of(path, places(document, path), ("ncp", "code"), ())):
        applied.append(f"ncp.code={document['ncp']['code']}")
    return path, document, applied


def whole_text(path: Path) -> str:
    """A scenario file's text; of one that extends another or is in Python the whole, so that no other file is needed to
    read it."""
    document, program = _read(path), path.suffix == files.IN_PYTHON
    if KEY not in document and not program:
        return read(path)
    text = io.StringIO()
    returned = ", as its scenario() returned it" if program else ""
    more = f", with what it extends ({document[KEY]})" if KEY in document else ""
    text.write(f"# {path.name}{returned}{more}.\n")
    YAML().dump(plain(extended(path, document, _base)), text)
    return text.getvalue()


def _parsed(name: str) -> tuple[Path, dict[str, Any]]:
    path = files.find(name, "scenario", [*files.scenarios(), *files.links()])
    return path, _read(path)


def _read(path: Path) -> dict[str, Any]:
    if path.suffix == files.IN_PYTHON:
        return in_python.document_of(path)
    return parse(path, read(path), "a scenario is a mapping with name, title, links, ncp and checks")


def _base(name: str, file: Path) -> tuple[Path, dict[str, Any]]:
    """The file that a scenario extends: one that is shipped, or a file beside it. None is run for another file."""
    if Path(name).suffix == files.IN_PYTHON:
        raise BadInput("scenario.python-extended", f"{name} is in Python, and only YAML can be extended")
    return _parsed(str(file.parent / name) if files.is_path(name) else name)


def parse(path: Path, text: str, should_be: str, most_characters: int = bounded.MOST_CHARACTERS) -> CommentedMap:
    """A YAML file's mapping, with the lines of its parts; raises :class:`BadInput`."""
    try:
        document = bounded.load(text, lines=True, most_characters=most_characters)
    except bounded.NotYaml as error:
        where = f"{path}:{line}" if (line := error.said.details.get("line")) else f"{path}"
        raise BadInput.of(error.said.at(where)) from error
    if not isinstance(document, CommentedMap):
        raise BadInput("scenario.not-a-mapping", f"{path}: {should_be}")
    return document


def validated(model: type[Model], path: Path, document: dict[str, Any], applied: Sequence[str] = ()) -> Model:
    """The document as ``model``; each mistake is reported with its line in the file (:class:`BadInput`)."""
    try:
        return model.model_validate(plain(document), context=None if confine.is_of_result(path) else OF_A_USER)
    except ValidationError as error:
        # A misspelt key is also a missing one; the misspelling is the one to mend, so it comes first.
        details = sorted(error.errors(), key=lambda item: item["type"] == "missing")
        shown = [_describe(model, path, document, item, applied) for item in details[:3]]
        reported = Lines(dict.fromkeys(shown))
        if len(reported) == 1 and len(details) <= 3:
            raise BadInput.of(reported[0]) from error
        more = f"\n(and {len(details) - 3} more)" if len(details) > 3 else ""
        raise BadInput("input.mistakes", f"{reported}{more}", mistakes=reported) from error


def plain(node: Any) -> Any:
    """A document without what ruamel remembers of its form."""
    if isinstance(node, dict):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(value) for value in node]
    for kind in (bool, int, float, str):  # ruamel's scalars are subclasses that remember their form
        if isinstance(node, kind):
            return kind(node)
    return node


def _describe(
    model: type[BaseModel], path: Path, document: dict[str, Any], error: ErrorDetails, applied: Sequence[str]
) -> Message:
    """``scenarios/x.yaml:7: links.fast.rate: 1024 has no unit; write for example 1024pps``."""
    names = named(document, error["loc"])
    said = _mistake(model, names, error)
    names = names or str(said.details.get("field", model.__name__.lower())).split(".")
    known = document.places if isinstance(document, Whole) else places(document, path)
    return said.at(_place_of(path, known, names, applied), _of_one_way(names, error, said), field=".".join(names))


def _of_one_way(names: Sequence[str], error: ErrorDetails, said: Message) -> str:
    """The notation for one direction of a link, where a mistake seems to be about that; "" elsewhere."""
    by_value = said.code == "quantity.not-a-quantity" and isinstance(error["input"], (dict, list))
    by_key = said.code == "input.unknown-key" and ONE_WAY.search(names[-1])
    if names[:1] == ["links"] and (by_value or by_key):
        example = f"{{at: 0s, do: set, link: {names[1]}, direction: ba, rate: 64pps}}"
        return f"; a link starts the same in both directions, and the timeline changes one: {example}"
    if names[:1] == ["timeline"] and by_key:
        return "; for one direction set its loss: {do: set, direction: ab, loss: 100%}"
    return "; for one direction add direction: ab or ba" if names[:1] == ["timeline"] and by_value else ""


def _place_of(path: Path, known: Mapping[tuple[str, ...], Place], names: Sequence[str], applied: Sequence[str]) -> str:
    """A part with its file and its line, or that of the closest part around it; or with what ``--set`` says of it."""
    part = ".".join(names)
    if overridden := next((text for text in applied if text.split("=", 1)[0] == part), None):
        return f"--set {overridden}: {part}"
    around = (tuple(names[:n]) for n in range(len(names), 0, -1))
    file, line = next((known[steps] for steps in around if steps in known), (path, None))
    return f"{file}:{line}: {part}" if line else f"{file}: {part}"


def _mistake(model: type[BaseModel], names: Sequence[str], error: ErrorDetails) -> Message:
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        known = _schema_around(model, error["loc"]).get("properties", {})
        return Message("input.unknown-key", f"unknown key {names[-1]!r}{_guess(names[-1], known)}", key=names[-1])
    if kind == "missing":
        key = _schema_around(model, error["loc"]).get("properties", {}).get(names[-1], {})
        example = f"; write for example {key['examples'][0]}" if "examples" in key else ""
        return Message("input.missing", f"is missing{example}")
    if kind == "value_error":
        wrong = error["ctx"]["error"] if "ctx" in error else error["msg"]
        return wrong.said if isinstance(wrong, InvalidValue) else Message("input.bad-value", f"{wrong}")
    wrong = SHAPES.get(kind) or error["msg"].replace("Input should", "should").split(", unable")[0]
    if kind in ("literal_error", "union_tag_invalid"):
        value = error["ctx"].get("tag", value)
        known = re.findall("'([^']*)'", error["ctx"].get("expected_tags") or error["ctx"]["expected"])
        wrong = f"it is not known here{_guess(value, known)}"
    if kind == "union_tag_not_found":
        known = _schema_around(model, (*error["loc"], ""))["discriminator"]["mapping"]
        wrong = f"{error['ctx']['discriminator']} is missing{_guess('', known)}"
    if kind == "float_parsing" and re.fullmatch(r"[\d.]+%", f"{value}"):
        wrong += f"; write {float(value[:-1]) / 100:g}"
    if isinstance(value, (str, int, float)):
        return Message("input.wrong-type", f"{value!r} is not right: {wrong}")
    return Message("input.wrong-shape", f"{'is empty: ' if value is None else ''}{wrong}")


def _guess(word: object, known: Collection[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return (f"; did you mean {close[0]!r}?" if close else "") + (f" (known: {', '.join(known)})" if known else "")


def _schema_around(model: type[BaseModel], loc: Sequence[int | str]) -> dict[str, Any]:
    """The schema of what the last step of ``loc`` is in."""
    schema: dict[str, Any] = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    node: dict[str, Any] = schema

    def resolve(candidate: dict[str, Any]) -> dict[str, Any]:
        while True:
            # Of a section that is optional or has a short form, what has parts.
            given = [option for option in candidate.get("anyOf", ()) if option.keys() & WITH_PARTS]
            if "$ref" in candidate:
                candidate = definitions[candidate["$ref"].rsplit("/", 1)[-1]]
            elif len(given) == 1:
                candidate = given[0]
            else:
                return candidate

    for step in loc[:-1]:
        node = resolve(node)
        if isinstance(step, int):
            node = node.get("items", {})
        elif step in node.get("properties", {}):
            node = node["properties"][step]
        elif "discriminator" in node:
            node = {"$ref": node["discriminator"]["mapping"][step]}
    return resolve(node)
