"""Every rule that decides, without I/O: checks, the convergence law, intervals, how verdicts combine."""
