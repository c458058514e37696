"""Checks over the runs of a study."""
