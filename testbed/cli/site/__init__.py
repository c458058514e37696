"""The site of docs/, made by MkDocs in an environment of its own."""
