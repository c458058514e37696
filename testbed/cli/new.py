"""``new``: a scenario to begin with, with comments, that runs as it is; or an NCP with a window rule."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from testbed import paths
from testbed.cli.outcome import shown
from testbed.documents import whole
from testbed.errors import BadInput
from testbed.scenario import files

TEMPLATE = Path(__file__).with_name("new_scenario.yaml")
SCHEMA = paths.CHECKOUT / "schemas" / "scenario.schema.json"
NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
"""Names that the scenario model accepts."""


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or the path of the file to write (.yaml).")],
    code: Annotated[Literal["go", "js"] | None, typer.Option(help="Instead an NCP of your own: codes/NAME/.")] = None,
) -> None:
    """Write a commented scenario that runs as it is: to scenarios/NAME.yaml, or where you say."""
    if code:
        _write_code(name, code)
        return
    file = Path(name) if files.is_path(name) else paths.SCENARIOS / f"{name}.yaml"
    _refuse(name, file)
    text = TEMPLATE.read_text(encoding="utf-8").format(name=file.stem)
    with file.open("x", encoding="utf-8") as opened:  # never over one that is there
        opened.write(f"# yaml-language-server: $schema={SCHEMA}\n{text}")
    requested = name if files.is_path(name) else file.stem
    print(f"{shown(file)} was written. Next:")
    print(f"  ./run.sh show {requested}")
    print(f"  ./run.sh {requested} --engine sim")


def _write_code(name: str, language: str) -> None:
    """Copy the example, whose window policy gets the name."""
    folder = Path("codes", name)
    if not NAME.fullmatch(name) or (paths.CHECKOUT / folder).exists():
        raise BadInput("new.bad-code", f"new {name!r}: should be a name like mine, and no {folder} be there already")
    with whole(paths.CHECKOUT / folder) as made:
        for file in (paths.CHECKOUT / "examples" / "codes" / language).iterdir():
            (made / file.name).write_text(re.sub(r"\bmine\b", name, file.read_text(encoding="utf-8")))
    print(f"{shown(paths.CHECKOUT / folder)} was written. Its first lines say how it is built and run.")


def _refuse(name: str, file: Path) -> None:
    """Raise :class:`BadInput` for a name that is none or is taken."""
    from testbed.cli.app import VERBS

    if file.suffix == files.IN_PYTHON:
        raise BadInput("new.not-yaml", f"new {name!r}: it writes YAML", "For Python copy examples/ladder/ladder.py.")
    if file.suffix not in (".yaml", ".yml") or not NAME.fullmatch(file.stem):
        raise BadInput(
            "new.bad-name",
            f"new {name!r}: a name has lower-case letters, digits and dashes, begins with a letter and has 32 at most",
            "For example: ./run.sh new mine",
        )
    if file.exists():
        raise BadInput(
            "new.file-exists", f"{shown(file)} exists; nothing was written", "Choose another name, or remove it."
        )
    if not file.parent.is_dir():
        raise BadInput("new.no-folder", f"{file}: there is no folder {file.parent}", f"First: mkdir -p {file.parent}")
    known = [path.stem for path in (*files.links(), *files.tables(), *files.sweeps())]
    if not files.is_path(name) and (name in VERBS or name in known):
        raise BadInput("new.name-taken", f"new {name!r}: ./run.sh {name} means something else", "Choose another name.")
