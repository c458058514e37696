"""A run's result folder: its plots, its report and what it can be exported to."""
