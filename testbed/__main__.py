"""``python -m testbed``, which ``run.sh`` calls."""

import gc

from testbed.cli import main

if __name__ == "__main__":
    # Imports and plots make hundreds of thousands of objects that stay: looked over for garbage after each 700 that are
    # new, as Python has it, they take a seventh longer.
    gc.set_threshold(50_000)
    main()
