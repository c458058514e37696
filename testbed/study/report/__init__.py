"""Pages and tables of what studies found."""
