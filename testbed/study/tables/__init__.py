"""Tables of runs: rows × columns × repetitions, each cell an ordinary run with its own result and verdict."""
