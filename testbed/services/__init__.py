"""InfluxDB and Grafana: how they are started, asked and filled."""
