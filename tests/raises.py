"""What tests expect of errors: a code, and values in the text, whatever the sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from testbed.errors import TestbedError
from testbed.message import InvalidValue, Message
from tests.said import Containing as Containing
from tests.said import missing

Error = TypeVar("Error", bound=BaseException)


class Said:
    """A message with this code, whose text or details have these values."""

    def __init__(self, code: str, /, **values: Any) -> None:
        self.code, self.values = code, values

    def __repr__(self) -> str:
        return self.code

    def differences(self, said: Message) -> list[str]:
        """A line for each thing that a message has otherwise."""
        if said.code != self.code:
            return [f"the code is {said.code}, not {self.code}: {said}"]
        found = [] if str(said) else ["has no text"]
        return found + [f"{name} is not {self.values[name]!r}: {said}" for name in missing(said, self.values)]

    def check(self, error: BaseException | Message | None) -> None:
        """Fail unless the error says it; of several mistakes that an error tells one has to be this one."""
        assert isinstance(error, (TestbedError, InvalidValue, Message)), f"has no code: {error!r}"
        said = error if isinstance(error, Message) else error.said
        all_of_it = [said, *said.details.get("mistakes", ())]
        differences = [self.differences(one) for one in all_of_it]
        assert [] in differences, "\n".join(line for some in differences for line in some)


@contextmanager
def raises(
    kind: type[Error] | tuple[type[Error], ...], said: str | Said, /, **values: Any
) -> Iterator[pytest.ExceptionInfo[Error]]:
    """As ``pytest.raises``, of an error that says this: a code, and values in the text."""
    with pytest.raises(kind) as raised:
        yield raised
    (said if isinstance(said, Said) else Said(said, **values)).check(raised.value)
