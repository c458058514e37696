"""InfluxDB and Grafana in containers (docker-compose.yml), where their images can be had."""
