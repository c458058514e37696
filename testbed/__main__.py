"""``python -m testbed``, which ``run.sh`` calls."""

from testbed.cli import main

if __name__ == "__main__":
    main()
