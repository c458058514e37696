"""The plan: a scenario resolved for one run, as the JSON that every other part reads (docs/contracts.md)."""
