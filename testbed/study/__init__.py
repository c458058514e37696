"""Many runs: cells, executors, retries and resume, and the checks over them (docs/studies.md)."""
