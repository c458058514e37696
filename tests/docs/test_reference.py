"""The pages that are made from the code are those of this code, and leave nothing out."""

from __future__ import annotations

import json

import pytest

from testbed import paths
from testbed.cli import app
from testbed.judge.checks.registry import CHECKS
from testbed.series.catalogue import CATALOGUE
from tools import reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_is_current(name: str) -> None:
    text = (paths.CHECKOUT / "docs" / name).read_text(encoding="utf-8")
    assert text == reference.PAGES[name](), "python -m tools.reference makes it anew"


def test_nothing_is_left_out() -> None:
    told = {"checks": reference.checks(), "options": reference.options(), "series": reference.series()}
    assert [name for name in CHECKS if f"\n## {name}\n" not in told["checks"]] == []
    assert [name for name in CATALOGUE if f"| `{name}` |" not in told["series"]] == []
    assert [verb for verb in app.VERBS if f"\n## `./run.sh {verb}`\n" not in told["options"]] == []


def test_every_key_of_a_scenario_is_told() -> None:
    schema = json.loads((paths.CHECKOUT / "schemas" / "scenario.schema.json").read_text())
    told = reference.fields() + reference.checks()
    places = [schema, *schema["$defs"].values()]
    keys = {key for place in places for key in place.get("properties", {})}
    assert {key for key in keys if f"`{key}`" not in told} == set()


def test_a_new_key_makes_the_page_old(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_is = reference.schema_of
    table = as_it_is("table")
    more = {**table["properties"], "colour": {"type": "string", "description": "New."}}
    changed = {**table, "properties": more}
    monkeypatch.setattr(reference, "schema_of", lambda kind: changed if kind == "table" else as_it_is(kind))
    assert "| `colour` | text |  | New. |" in reference.fields()


@pytest.mark.parametrize(
    ("each", "form", "default", "about"),
    [
        (
            {"type": "integer", "minimum": 1, "default": 3, "description": "Runs."},
            "whole number, from 1",
            "`3`",
            "Runs.",
        ),
        ({"type": "string", "examples": ["1s"], "description": "a duration"}, "a duration: `1s`", "", ""),
        ({"type": "string", "examples": ["1s"], "description": "How long."}, "`1s`", "", "How long."),
        ({"anyOf": [{"type": "null"}, {"const": "a"}], "default": None}, "`a`", "", ""),
        ({"type": "array", "items": {"enum": [1, 2]}}, "list of `1` or `2`", "", ""),
    ],
)
def test_how_a_key_is_told(each: reference.Schema, form: str, default: str, about: str) -> None:
    assert (reference.form(each, {}), reference.code(each.get("default")), reference.about(each)) == (
        form,
        default,
        about,
    )
