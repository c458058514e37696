"""Requirements of a machine that runs the testbed: one list, read by ``doctor``, by set-up and before every run."""
