"""Grafana's dashboards and alert rules, generated from code; the queries are those of ``testbed.series``."""
