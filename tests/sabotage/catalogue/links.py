"""Links that are not as the plan asks: in the model of virtual time, and as the probe would measure real ones."""

from tests.sabotage.entry import Entry, Swap

_PIPE, _RATE = "internal/linkmodel/pipe.go", "internal/linkmodel/rate.go"
_ONE_WAY = (
    Swap(_PIPE, "type Pipe[T any] struct {", "type Pipe[T any] struct {\n\toneWay bool"),
    Swap(_PIPE, "d := &Pipe[T]{hooks: hooks,", "d := &Pipe[T]{oneWay: direction == AB, hooks: hooks,"),
)
_UNASKED = Swap(_PIPE, "if !reflect.ValueOf(one).Elem().IsZero() {", "if reflect.ValueOf(one).IsValid() {")
"""Impairments that nobody asked for are in the way, too."""


def _link(name: str, imitates: str, *swaps: Swap) -> Entry:
    return Entry(name, "links", imitates, swaps, expected="untrusted")


ENTRIES = (
    _link(
        "rate-plus-3",
        "a shaper that counts bytes without their headers",
        Swap(_RATE, "8 * nsPerS / p.RateBPS", "8 * nsPerS / (1.03 * p.RateBPS)"),
    ),
    _link(
        "rate-minus-3",
        "a shaper that counts headers twice",
        Swap(_RATE, "8 * nsPerS / p.RateBPS", "8 * nsPerS / (0.97 * p.RateBPS)"),
    ),
    _link(
        "delay-plus-1.5-ms",
        "a timer that fires late",
        Swap(_PIPE, "delayMS: d.properties.DelayMS,", "delayMS: d.properties.DelayMS + 1.5,"),
    ),
    _link(
        "loss-one-way",
        "a bad cable: 1% is lost on the way there, nothing on the way back",
        *_ONE_WAY,
        Swap(
            _PIPE,
            "\tfor _, impair := range d.impair {\n",
            "\tif d.oneWay && d.counts.In%100 == 50 {\n\t\td.drop(w.frame, Lost)\n\t\treturn\n\t}\n"
            "\tfor _, impair := range d.impair {\n",
        ),
    ),
    _link(
        "queue-twice",
        "a buffer beyond the one that was requested",
        Swap(_PIPE, "d.limit = p.Queue.Packets", "d.limit = 2 * p.Queue.Packets"),
    ),
    _link(
        "reordering",
        "5% of the packets overtake the others",
        Swap("internal/linkmodel/reordering.go", "chance(r, o.Reorder)", "chance(r, 0.05)"),
        _UNASKED,
    ),
    _link(
        "duplicates",
        "2% of the packets arrive twice",
        Swap("internal/linkmodel/duplication.go", "chance(r, d.Duplicate)", "chance(r, 0.02)"),
        _UNASKED,
    ),
    _link(
        "queue-drops",
        "a queue that should hold its sender back drops",
        *_ONE_WAY,
        Swap(
            _PIPE,
            "\tif d.queue.full(d.limit) {\n\t\tif d.properties",
            "\tif d.oneWay && d.counts.In%100 == 50 {\n\t\td.drop(frame, QueueFull)\n\t\treturn true\n\t}\n\tif "
            "d.queue.full(d.limit) {\n\t\tif d.properties",
        ),
    ),
)
