"""Grafana in a container (docker-compose.yml), where its image can be had."""
