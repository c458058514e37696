"""Samplers of what the agents don't see of themselves; those that ask the kernel are in Go, beside these."""
