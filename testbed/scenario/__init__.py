"""Scenario files: what a user writes, read and validated before anything is created."""
