"""Topologies and traces from and to other tools, and drawings."""
