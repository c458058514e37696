"""InfluxDB: the testbed's own server on the loopback address, and a typed client for any 1.x server."""

from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import Endpoint, external
from testbed.services.influx.server import (
    InfluxUnavailable,
    PortInUse,
    ensure,
    running,
    started_elsewhere,
    status,
    stop,
)

__all__ = [
    "Client",
    "Endpoint",
    "InfluxUnavailable",
    "PortInUse",
    "ensure",
    "external",
    "running",
    "started_elsewhere",
    "status",
    "stop",
]
