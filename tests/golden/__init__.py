"""What plans, run ids, telemetry, guests and reference results came to: kept in files, compared with what comes today.

``python -m tests.golden`` writes them all again; CONTRIBUTING.md says which may change when.
"""
