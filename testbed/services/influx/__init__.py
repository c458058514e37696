"""InfluxDB: the testbed's own server on the loopback address, and a typed client for any 1.x server."""

from testbed.services.influx.client import Client, Series
from testbed.services.influx.endpoint import DATABASE, Endpoint, Role, external
from testbed.services.influx.server import InfluxUnavailable, PortInUse, Status, ensure, running, status, stop

__all__ = [
    "DATABASE",
    "Client",
    "Endpoint",
    "InfluxUnavailable",
    "PortInUse",
    "Role",
    "Series",
    "Status",
    "ensure",
    "external",
    "running",
    "status",
    "stop",
]
