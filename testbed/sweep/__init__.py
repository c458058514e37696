"""Sweeps: parameters × policies × seeds in virtual time, to one table, plots and a verdict."""
