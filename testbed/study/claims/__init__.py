"""The sources' claims as data, the runs that decide them, and one page that tells what became of each."""
