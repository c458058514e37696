"""A run's result folder: its plots and its report."""
