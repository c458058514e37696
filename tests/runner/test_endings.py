"""Parts end together: none waits for another, and one that hangs is killed."""

from dataclasses import dataclass, field

from testbed.runtime.parts import end_together


@dataclass
class Part:
    """Ends after it was asked and then looked at a number of times; -1: never by itself."""

    looks: int
    fails: bool = False
    said: list[str] = field(default_factory=list)

    def ask_to_end(self) -> None:
        self.said.append("asked")
        if self.fails:
            raise OSError("it can't be asked")

    def has_ended(self) -> bool:
        self.looks -= 1
        return self.looks == 0 or "killed" in self.said

    def kill(self) -> None:
        self.said.append("killed")


def test_all_are_asked_before_any_is_waited_for() -> None:
    class Last(Part):
        def ask_to_end(self) -> None:
            first.looks = 1  # only now the first one can end

    first = Part(-1)
    end_together([first, Last(1)], limit_s=60)
    assert first.said == ["asked"]


def test_one_that_hangs_is_killed_and_the_others_are_not() -> None:
    hanging, good = Part(-1), Part(2)
    end_together([hanging, good], limit_s=0.1)
    assert hanging.said == ["asked", "killed"]
    assert good.said == ["asked"]


def test_one_that_cannot_be_asked_does_not_keep_the_others() -> None:
    broken, good = Part(1, fails=True), Part(3)
    end_together([broken, good], limit_s=60)
    assert good.said == ["asked"]
