"""A headless browser: prints pages, and looks at them as a reader would."""

from testbed.lab.browser.chromium import Browser, NoBrowser, none_found
from testbed.lab.browser.look import Look, look

__all__ = ["Browser", "Look", "NoBrowser", "look", "none_found"]
