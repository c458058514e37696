"""``python -m dashboards.generate``: writes the dashboards' JSON and the provisioning of alert rules."""

import io
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dashboards import alerts
from dashboards.boards import DASHBOARDS
from dashboards.document import to_text

FOLDER = Path(__file__).parent
JSON, RULES = Path("json"), Path("provisioning/alerting")

_HEAD = "# Written by `python -m dashboards.generate`; change the code in dashboards/ instead.\n"


def files() -> dict[Path, str]:
    """Every generated file, by its path below ``dashboards/``."""
    return {
        **{JSON / f"{name}.json": to_text(document) for name, document in DASHBOARDS.items()},
        RULES / "rules.yaml": _yaml(alerts.DOCUMENT),
    }


def _yaml(document: dict[str, Any]) -> str:
    writer = YAML(typ="rt")
    writer.default_flow_style = False
    writer.width = 1000
    writer.representer.ignore_aliases = lambda *_: True
    writer.indent(mapping=2, sequence=4, offset=2)
    text = io.StringIO()
    writer.dump(document, text)
    return _HEAD + text.getvalue()


def write() -> None:
    """Write every file; what was generated before and is no more goes."""
    generated = files()
    for path in (*(FOLDER / JSON).iterdir(), *(FOLDER / RULES).iterdir()):
        if path.relative_to(FOLDER) not in generated:
            path.unlink()
    for path, text in generated.items():
        (FOLDER / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
