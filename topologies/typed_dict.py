"""The ``TypedDict`` that pydantic makes schemas of; the standard library's for ``mn --custom``, which makes none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypedDict
else:
    try:
        from typing_extensions import TypedDict
    except ModuleNotFoundError:
        from typing import TypedDict

__all__ = ["TypedDict"]
