"""Hosts of a run on other machines, which need only Docker and SSH."""
