"""``python -m dashboards.generate``: writes the dashboards' JSON and the provisioning of data source, dashboards
and alert rules."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dashboards import alerts, compare, convergence, fleet, links, ndn, source, speed_table, tcp
from dashboards.document import to_text
from testbed.services.influx.endpoint import DATABASE

FOLDER = Path(__file__).parent

DASHBOARDS: dict[str, dict[str, Any]] = {
    module.NAME: module.DASHBOARD for module in (convergence, links, compare, speed_table, tcp, ndn, fleet)
}

_HEAD = "# Written by `python -m dashboards.generate`; change the code in dashboards/ instead.\n"


def files() -> dict[Path, str]:
    """Every generated file, by its path below ``dashboards/``."""
    panel_ids = {
        name: {panel["title"]: panel["id"] for panel in document["panels"]} for name, document in DASHBOARDS.items()
    }
    provisioning = Path("provisioning")
    return {
        **{Path("json") / f"{name}.json": to_text(document) for name, document in DASHBOARDS.items()},
        provisioning / "datasources" / "influxdb.yaml": _yaml(data_sources()),
        provisioning / "dashboards" / "dashboards.yaml": _yaml(providers()),
        provisioning / "alerting" / "rules.yaml": _yaml(alerts.document(panel_ids)),
    }


def data_sources() -> dict[str, Any]:
    """The data source. Grafana up to 9 reads ``database``, later ones ``jsonData.dbName``.

    Grafana replaces ``$NCP_TESTBED_INFLUX_…`` by its environment.
    """
    return {
        "apiVersion": 1,
        "datasources": [
            {
                "name": "NCP testbed",
                "type": source.TYPE,
                "uid": source.UID,
                "orgId": 1,
                "access": "proxy",
                "url": "$NCP_TESTBED_INFLUX_URL",
                "database": DATABASE,
                "user": "$NCP_TESTBED_INFLUX_READER",
                "secureJsonData": {"password": "$NCP_TESTBED_INFLUX_READER_PASSWORD"},
                "jsonData": {
                    "dbName": DATABASE,
                    # Answers to POST come cut or empty now and then.
                    "httpMode": "GET",
                    "version": "InfluxQL",
                    "timeInterval": "100ms",
                },
                "isDefault": True,
                "editable": False,
            }
        ],
    }


def providers() -> dict[str, Any]:
    """Folder from which Grafana loads the dashboards."""
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": "ncp-testbed",
                "orgId": 1,
                "folder": alerts.FOLDER,
                "type": "file",
                "disableDeletion": True,
                "allowUiUpdates": False,
                "options": {"path": "/var/lib/ncp-testbed/dashboards"},
            }
        ],
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
    for folder in ("json", "provisioning"):
        for path in (FOLDER / folder).rglob("*"):
            if path.is_file() and path.relative_to(FOLDER) not in generated:
                path.unlink()
    for path, text in generated.items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
