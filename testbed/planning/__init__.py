"""Resolves a scenario on a machine to the plan of a run."""
