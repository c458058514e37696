"""Benchmarks: what the testbed's own parts are worth, measured beside those of others."""
