"""Samplers of what the agents don't see of themselves: the host's load, and more to come."""
