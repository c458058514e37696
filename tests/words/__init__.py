"""The prose of the source, read by a grammar checker and by this project's own rules of style."""
