"""The plan of a run, typed: the JSON that every other part reads (docs/contracts.md)."""
