"""The ``TypedDict`` that pydantic makes schemas of; the standard library's for ``mn --custom``, which makes none."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypedDict, is_typeddict
else:
    try:
        from typing_extensions import TypedDict, is_typeddict
    except ModuleNotFoundError:
        from typing import TypedDict, is_typeddict

__all__ = ["TypedDict", "is_typeddict"]
