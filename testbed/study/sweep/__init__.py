"""Sweeps: parameters × policies × seeds in virtual time, to one table, plots and a verdict.

A sweep is a table whose rows are the combinations of its parameters: its places, outcomes, observations and the rules
that put them together are those of tables, and a study's executor makes its runs. Its own is what
follows from being up to 10,000 runs: a run leaves figures instead of a folder, so these are measured as soon as it is
made, a line each in ``runs.jsonl`` is what is finished, and what is compared when it is verified is the table of all of
them. And it fits a line over its runs, the convergence law's.
"""
