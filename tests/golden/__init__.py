"""What plans, run ids, telemetry, guests, reference results and commands came to: kept in files, compared with what
comes today.

``python -m tests.golden`` writes them all again; CONTRIBUTING.md says which may change when.
"""
