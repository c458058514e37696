"""Many runs as one thing: a study's cells, who makes them, what of them is kept, and where (docs/studies.md)."""
