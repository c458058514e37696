"""What tests expect of errors: a code and parameters, whatever the sentence that is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from testbed.errors import TestbedError
from testbed.message import InvalidValue, Lines, Message

Error = TypeVar("Error", bound=BaseException)


@dataclass(frozen=True)
class Containing:
    """A parameter's value that has this in its text."""

    part: str

    def holds_for(self, value: object) -> bool:
        """Whether it has."""
        return self.part in str(value)


class Said:
    """A message with this code, and with these values among its parameters; those without are not looked at."""

    def __init__(self, code: str, /, **parameters: Any) -> None:
        self.code, self.parameters = code, parameters

    def __repr__(self) -> str:
        return self.code

    def differences(self, said: Message) -> list[str]:
        """A line for each thing that a message has otherwise."""
        if said.code != self.code:
            return [f"the code is {said.code}, not {self.code}: {said}"]
        found = [] if str(said) else ["has no text"]
        for name, expected in self.parameters.items():
            value = said.parameters.get(name, "nothing")
            if isinstance(expected, Containing):
                same = expected.holds_for(value)
            else:
                # Of exceptions and paths the text is what matters.
                same = value == expected or (isinstance(expected, str) and str(value) == expected)
            if not same:
                found.append(f"{name} is {value!r}, not {expected!r}: {said}")
        return found

    def check(self, error: BaseException | Message | None) -> None:
        """Fail unless the error says it; of several mistakes that an error tells one has to be this one."""
        assert isinstance(error, (TestbedError, InvalidValue, Message)), f"has no code: {error!r}"
        said = error if isinstance(error, Message) else error.said
        several = said.parameters.get("mistakes")
        all_of_it = [said, *(several if isinstance(several, Lines) else ())]
        differences = [self.differences(one) for one in all_of_it]
        assert [] in differences, "\n".join(line for some in differences for line in some)


@contextmanager
def raises(
    kind: type[Error] | tuple[type[Error], ...], said: str | Said, /, **parameters: Any
) -> Iterator[pytest.ExceptionInfo[Error]]:
    """As ``pytest.raises``, of an error that says this: a code, and some of its parameters."""
    with pytest.raises(kind) as raised:
        yield raised
    (said if isinstance(said, Said) else Said(said, **parameters)).check(raised.value)
