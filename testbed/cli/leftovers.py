"""What killed runs left behind, by the name that verbs know it by."""

from testbed.runner.leftovers import remove_leftovers

__all__ = ["remove_leftovers"]
