"""InfluxDB: the testbed's own server on the loopback address, and a typed client for any 1.x server."""
