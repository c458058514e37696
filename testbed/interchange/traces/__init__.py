"""A run's traces: whether they agree with its results, and the forms that other tools open (docs/dashboards.md)."""
