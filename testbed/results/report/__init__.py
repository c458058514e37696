"""The report of a run: plots and one self-contained page, made from the result folder alone."""
