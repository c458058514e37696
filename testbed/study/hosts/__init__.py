"""Studies on many machines: each run stays whole on one of them (docs/cluster.md)."""
