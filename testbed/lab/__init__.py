"""Benchmarks: how fast and exact the parts of the testbed are, measured beside those of others."""
