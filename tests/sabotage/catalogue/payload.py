"""The receiver hands on other bytes than were sent."""

from tests.sabotage.entry import Entry, Swap

_SINK = "func(part []byte) { sum.Write(part) }"
_RUN = "ncp-agent/simrun/run.go"


def _sink(body: str) -> Swap:
    """What the receiving application does with each part of the stream."""
    return Swap(_RUN, _SINK, f"func(part []byte) {{ {body} }}")


_FIRST = "seen := false\n\t\t"
_BEFORE = "s.run.Transfers[i].Source = stream.Next\n"


def _once(body: str) -> tuple[Swap, ...]:
    """The same, and only for the first part."""
    swaps = Swap(_RUN, _BEFORE, f"{_FIRST}{_BEFORE}")
    return (swaps, _sink(f"if !seen {{ seen = true; {body} }} else {{ sum.Write(part) }}"))


ENTRIES = (
    Entry(
        "bit",
        "payload",
        "a checksum that is not looked at, and memory that flips a bit",
        _once("bad := append([]byte(nil), part...); bad[0] ^= 1; sum.Write(bad)"),
    ),
    Entry(
        "block-swapped",
        "payload",
        "reassembly that puts two blocks in each other's place",
        _once("half := len(part) / 2; sum.Write(part[half:]); sum.Write(part[:half])"),
    ),
    Entry(
        "part-doubled",
        "payload",
        "a duplicate packet that is handed on twice, in place of the one after it",
        _once("half := len(part) / 2; sum.Write(part[:half]); sum.Write(part[:half])"),
    ),
    Entry(
        "zeros",
        "payload",
        "a buffer that is handed on before it is filled",
        (_sink("sum.Write(make([]byte, len(part)))"),),
    ),
    Entry(
        "short-end",
        "payload",
        "a receiver that leaves the last packet behind",
        (
            Swap(
                "ncp-agent/simrun/run.go",
                "t.ReceivedAt, t.Received, &t.Receiver",
                "t.ReceivedAt, t.Received-1024, &t.Receiver",
            ),
        ),
    ),
    Entry(
        "no-digest",
        "payload",
        "a receiver that doesn't look at what it got",
        (
            Swap("ncp-agent/simrun/run.go", "SHA256: hex.EncodeToString(s.sums[i].Sum(nil))", 'SHA256: ""'),
            Swap("ncp-agent/simrun/run.go", '\t"encoding/hex"\n', ""),
        ),
    ),
    Entry(
        "one-of-three-corrupted",
        "counting",
        "a fault that comes now and then: the second of three runs",
        _once("bad := append([]byte(nil), part...); bad[0] ^= 1; sum.Write(bad)"),
        only_seed=2,
        unreached={"run": "a single run has the first seed"},
    ),
)
