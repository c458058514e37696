"""The kinds of studies: each makes its cells of what users write."""
