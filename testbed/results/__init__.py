"""A run's result folder: the way to the latest one, its plots and its report."""

from pathlib import Path


def make_latest(folder: Path) -> None:
    """Let ``latest`` beside a result folder lead to it."""
    latest = folder.parent / "latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(folder.name)
