"""Pages of docs/ that are made from the code: what may be written, asked and read."""
