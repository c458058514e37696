"""InfluxDB and Grafana: how to start, query and fill them."""
