"""Experiments about the kernel's own TCP: one file per kind, and the run that they share."""
