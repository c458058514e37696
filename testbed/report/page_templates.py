"""Jinja as every page of this project uses it."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_SHARED = Path(__file__).parent / "templates"


def page_templates(*folders: Path) -> Environment:
    """The templates in these folders, the first with a name before the others, and those that pages share: text is
    escaped, a missing value is an error."""
    return Environment(
        loader=FileSystemLoader([*folders, _SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
