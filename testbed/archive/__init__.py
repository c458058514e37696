"""Bundles: results with everything that is needed to check them, in one file."""
