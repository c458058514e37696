"""Numbers that a program reports and that no check asks about: each in a way that only another source can tell."""

from tests.sabotage.entry import Entry, Level, Swap, Word

_RECORDER, _RESULT, _RUN = "ncp-agent/metrics/recorder.go", "ncp-agent/metrics/result.go", "ncp-agent/simrun/run.go"
_RECEIVER, _ACKS, _RECOVERY = (f"ncp-agent/session/{name}.go" for name in ("receiver", "acks", "recovery"))
_RECORD, _NETWORK, _PIPE = "internal/linkmetrics/record.go", "ncp-agent/sim/network.go", "internal/linkmodel/pipe.go"

DELIVERED_TWICE = (Swap(_RECEIVER, "c.delivered++", "c.delivered += 2"),)
THIRD_NOT_COUNTED = (Swap(_RECEIVER, "c.received++", "if p.Sequence%3 != 0 {\n\t\tc.received++\n\t}"),)
THIRD_IN_NO_COUNT = (
    *THIRD_NOT_COUNTED,
    Swap(_RECEIVER, "c.delivered++", "if p.Sequence%3 != 0 {\n\t\t\tc.delivered++\n\t\t}"),
)
NO_DROPS = (Swap(_RECORD, 'telemetry.Int("drops", s.Drops)', 'telemetry.Int("drops", 0*s.Drops)'),)
NO_LOSSES = (Swap(_ACKS, "\t\tc.lost++\n", ""), Swap(_RECOVERY, "\tc.lost++\n", ""))
IN_FLIGHT_HALVED = (
    Swap(
        _RECORDER,
        'telemetry.Int("in_flight_packets", c.InFlightPackets)',
        'telemetry.Int("in_flight_packets", c.InFlightPackets/2)',
    ),
)
RTO_IN_SECONDS = (
    Swap(_RECORDER, 'telemetry.Float("rto_ms", milliseconds(c.RTO))', 'telemetry.Float("rto_ms", c.RTO.Seconds())'),
)
GOODPUT_IN_BYTES = (
    Swap(_RECORDER, "float64(bytes-earlier)*8/seconds", "float64(bytes-earlier)/seconds"),
    Swap(_RESULT, "float64(bytes) * 8 / d", "float64(bytes) / d"),
)
HASH_COPIED = (
    Swap(_RUN, "func(part []byte) { sum.Write(part) }", "func(part []byte) { sum.Write(part[:1]) }"),
    Swap(_RUN, "SHA256: hex.EncodeToString(s.sums[i].Sum(nil))", "SHA256: s.streams[i].SHA256()"),
    Swap(_RUN, '\t"encoding/hex"\n', ""),
)
EIGHT = (
    *DELIVERED_TWICE,
    *THIRD_NOT_COUNTED,
    *NO_DROPS,
    *NO_LOSSES,
    *IN_FLIGHT_HALVED,
    *RTO_IN_SECONDS,
    *GOODPUT_IN_BYTES,
    *HASH_COPIED,
)

SLOWER = (
    Swap(_PIPE, "delayMS: d.properties.DelayMS,", "delayMS: d.properties.DelayMS + 5,"),
    Swap(_NETWORK, "delivery.Due - delivery.Left", "delivery.Due - delivery.Left - 5*time.Millisecond"),
)
FLOOR_OF_4 = (Swap("ncp-agent/policy/policy.go", "const MinWindow = 1", "const MinWindow = 4"),)
THREE_QUARTERS = (
    Swap(
        "ncp-agent/policy/nkp24.go",
        "TimedOut(c int) { p.windows[c] = max(MinWindow, p.windows[c]/2) }",
        "TimedOut(c int) { p.windows[c] = max(MinWindow, p.windows[c]*0.75) }",
    ),
    Swap("ncp-agent/policy/previous.go", "math.Floor(p.windows[c]/2)", "math.Floor(p.windows[c]*0.75)"),
)
THREE = (*SLOWER, *FLOOR_OF_4, *THREE_QUARTERS)


def _recorded(field: str, as_it_is: str, instead: str, kind: str = "Int") -> tuple[Swap, ...]:
    """What an end's telemetry has in place of a field's value; its results stay as they are."""
    return (Swap(_RECORDER, f'telemetry.{kind}("{field}", {as_it_is})', f'telemetry.{kind}("{field}", {instead})'),)


SENT_HALVED = _recorded("sent", "c.Sent", "c.Sent/2")
RESENT_HALVED = _recorded("resent", "c.Resent", "c.Resent/2")
ACKED_TWICE = _recorded("acked", "c.Acked", "2*c.Acked")
LOST_TWICE = _recorded("lost", "c.Lost", "2*c.Lost")
WINDOW_USED_TWICE = _recorded("send_window_used", "stats.SendWindowUsed", "2*stats.SendWindowUsed")
WINDOW_USED_HALVED = _recorded("send_window_used", "stats.SendWindowUsed", "stats.SendWindowUsed/2")
REORDER_HALVED = _recorded("reorder_bytes", "stats.ReorderBytes", "stats.ReorderBytes/2")
BYTES_HALVED = _recorded("bytes", "bytes", "bytes/2")
SHARES_EQUAL = (
    Swap(
        _RECORDER,
        'telemetry.Float("delivered_share", float64(delivered)/float64(all))',
        'telemetry.Float("delivered_share", (float64(delivered)+0*float64(all))/float64(all)/2)',
    ),
)
BACKLOG_HALVED = (
    Swap(_RECORD, 'telemetry.Int("backlog_bytes", s.HeldBytes)', 'telemetry.Int("backlog_bytes", s.HeldBytes/2)'),
)
CARRIED_HALVED = (Swap(_RECORD, "float64(s.SentBytes-before.SentBytes)*8", "float64(s.SentBytes-before.SentBytes)*4"),)
LOSS_HALVED = (
    Swap(_RECORD, "float64(s.Counts.Lost-before.Counts.Lost)/", "float64(s.Counts.Lost-before.Counts.Lost)/2/"),
)


def _field(name: str, imitates: str, *swaps: Swap, **more: object) -> Entry:
    return Entry(name, "fields", imitates, swaps, **{"expected": "untrusted", **more})  # type: ignore[arg-type]


OTHER_FACTS: dict[Level, Word] = {"verify": "fail"}
"""The plan has the facts of another program than the checkout's that verifies it."""
ENTRIES = (
    _field("delivered-twice", "a receiver that counts each new packet twice", *DELIVERED_TWICE),
    _field("third-not-counted", "a receiver that counts two of three arrivals", *THIRD_NOT_COUNTED),
    _field("third-in-no-count", "the same, of new packets as well", *THIRD_IN_NO_COUNT),
    _field("no-losses", "a sender that counts no timeout", *NO_LOSSES, scenario="blackhole"),
    _field("in-flight-halved", "half of the packets in flight", *IN_FLIGHT_HALVED),
    _field("rto-in-seconds", "a timeout in seconds where milliseconds are meant", *RTO_IN_SECONDS),
    _field("goodput-in-bytes", "a goodput in bytes where bits are meant", *GOODPUT_IN_BYTES),
    _field("all-at-once", "these together, and no drop counted", *EIGHT),
    _field("slower-untold", "5 ms more in each direction, which the link does not count", *SLOWER),
    _field(
        "floor-of-4",
        "windows that are never less than four packets",
        *FLOOR_OF_4,
        scenario="blackhole",
        otherwise=OTHER_FACTS,
    ),
    _field(
        "three-quarters", "a timeout that leaves three quarters of the window", *THREE_QUARTERS, scenario="blackhole"
    ),
    _field(
        "three-settings", "a slower link, another floor and another halving together", *THREE, otherwise=OTHER_FACTS
    ),
    _field("sent-halved", "a sender whose telemetry has half of what it sent", *SENT_HALVED),
    _field(
        "resent-halved", "a sender whose telemetry has half of what it sent again", *RESENT_HALVED, scenario="blackhole"
    ),
    _field("acked-twice", "acknowledgements that count twice", *ACKED_TWICE),
    _field("lost-twice", "timeouts that count twice", *LOST_TWICE, scenario="blackhole"),
    _field("window-used-twice", "a session's window of which twice as much is in use", *WINDOW_USED_TWICE),
    _field("window-used-halved", "a session's window of which half as much is in use", *WINDOW_USED_HALVED),
    _field("reorder-halved", "half of what waits for earlier data", *REORDER_HALVED),
    _field("bytes-halved", "half of the bytes, at both ends", *BYTES_HALVED),
    _field("shares-equal", "shares of what is delivered that do not follow the rates", *SHARES_EQUAL),
    _field("backlog-halved", "a link with half of its backlog", *BACKLOG_HALVED),
    _field("carried-halved", "a link that counts half of its bytes", *CARRIED_HALVED),
)
