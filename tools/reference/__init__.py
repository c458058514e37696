"""Pages of docs/ that are made from the code: keys, checks and series."""
