"""Grafana's address, and links to its dashboards."""

import os
from urllib.parse import urlencode

from testbed.services.influx.endpoint import port_of


def port() -> int:
    """Grafana's port; BadInput for no port."""
    return port_of("NCP_TESTBED_GRAFANA_PORT", 3000)


def base_url() -> str:
    """``NCP_TESTBED_GRAFANA_URL``, else the testbed's own Grafana on the loopback address."""
    return os.environ.get("NCP_TESTBED_GRAFANA_URL", f"http://127.0.0.1:{port()}").rstrip("/")


def run_url(dashboard: str, run: str) -> str:
    """A dashboard (``convergence``, …) at a run, whose span it knows itself."""
    query = urlencode({"var-scenario": "$__all", "var-run": run})
    return f"{base_url()}/d/ncp-{dashboard}?{query}"
