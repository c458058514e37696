"""CITATION.cff says what is so."""

import datetime
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, HttpUrl
from ruamel.yaml import YAML

from testbed import paths
from testbed.study.kinds.claims_file import load


class Strict(BaseModel):
    """Keys of the Citation File Format 1.2.0 that are used, with its own names; another key is a mistake."""

    model_config = ConfigDict(extra="forbid", alias_generator=lambda name: name.replace("_", "-"))


class Person(Strict):
    family_names: str = Field(min_length=1)
    given_names: str = Field(min_length=1)
    affiliation: str = ""


class Entity(Strict):
    name: str = Field(min_length=1)


Authors = Annotated[list[Person | Entity], Field(min_length=1)]


class Reference(Strict):
    type: Literal["article", "blog", "generic", "slides"]
    title: str = Field(min_length=1)
    authors: Authors
    year: int | None = Field(None, ge=1969, le=datetime.date.max.year)
    month: int | None = Field(None, ge=1, le=12)
    url: HttpUrl | None = None
    repository_code: HttpUrl | None = None
    conference: Entity | None = None
    journal: str = ""
    volume: int | None = None
    issue: int | None = None
    notes: str = ""


class Citation(Strict):
    cff_version: Literal["1.2.0"]
    message: str = Field(min_length=1)
    type: Literal["software"]
    title: str = Field(min_length=1)
    abstract: str = Field(min_length=1)
    version: str
    license: Literal["Apache-2.0"]
    authors: Authors
    keywords: list[str] = Field(min_length=1)
    references: list[Reference]


@pytest.fixture
def citation() -> Citation:
    return Citation.model_validate(YAML(typ="safe").load(paths.CHECKOUT / "CITATION.cff"))


def test_every_source_of_a_claim_is_cited(citation: Citation) -> None:
    titles = {reference.title for reference in citation.references}
    others = [source for source in load().sources.values() if source.by != "this project"]
    assert {source.title for source in others} <= titles
    assert len(titles) == len(citation.references) >= 5


def test_the_version_is_that_of_the_project(citation: Citation) -> None:
    text = (paths.CHECKOUT / "pyproject.toml").read_text()
    assert f'version = "{citation.version}"' in text
    assert "Apache License" in (paths.CHECKOUT / "LICENSE").read_text()
