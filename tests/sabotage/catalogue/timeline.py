"""What was to happen under way does not, or not then."""

from tests.sabotage.catalogue.telemetry import lines
from tests.sabotage.entry import Entry, Swap

_PART, _SLOWED = "ncp-agent/sim/part.go", "slowed"

ENTRIES = (
    Entry(
        "event-not-applied",
        "timeline",
        "a change that is recorded and not made",
        (Swap(_PART, "\t\tp.network.apply(now, e)\n", ""),),
        scenario=_SLOWED,
        expected="untrusted",
    ),
    Entry(
        "event-late",
        "timeline",
        "a change that is made 0.3 s late",
        (
            Swap(
                _PART,
                "p.origin + p.events[p.happened].At, true",
                "p.origin + p.events[p.happened].At + 300_000_000, true",
            ),
        ),
        scenario=_SLOWED,
        expected="untrusted",
    ),
    Entry(
        "event-late-untold",
        "timeline",
        "a change that is made 0.3 s late and said to be in time",
        (
            Swap(
                _PART,
                "p.origin + p.events[p.happened].At, true",
                "p.origin + p.events[p.happened].At + 300_000_000, true",
            ),
            Swap(
                "ncp-agent/simrun/recording.go",
                "at := (now - r.started).Seconds()",
                "at := (now - r.started).Seconds() - 0.3",
            ),
            Swap(
                "ncp-agent/simrun/recording.go",
                "r.kindTags(a.Kind), epoch.Add(now),",
                "r.kindTags(a.Kind), epoch.Add(now-300*time.Millisecond),",
            ),
        ),
        scenario=_SLOWED,
        expected="untrusted",
    ),
    Entry(
        "event-not-recorded",
        "timeline",
        "a change that nothing tells of",
        data=lines(lambda all_: (line for line in all_ if "kind=set" not in line)),
        scenario=_SLOWED,
        expected="untrusted",
        otherwise={"verify": "fail"},
    ),  # events.csv tells of it
    Entry(
        "event-not-asked",
        "timeline",
        "a change that the plan has not",
        (
            Swap(
                "ncp-agent/simrun/network.go",
                "\treturn list, nil\n}\n\n// overhead",
                '\tif len(list) > 0 {\n\t\tagain := list[0]\n\t\tagain.At += timing.Seconds(2)\n\t\tvar half linkmodel.Change\n\t\t_ = half.UnmarshalJSON([]byte(`{"rate_bps": 2575200}`))\n\t\tagain.Set = &half\n\t\tlist = append(list, again)\n\t}\n\treturn list, nil\n}\n\n// overhead',
            ),
            Swap(
                "ncp-agent/simrun/recording.go",
                "\ta := &r.timeline[index]\n",
                "\tif index >= len(r.timeline) {\n\t\treturn\n\t}\n\ta := &r.timeline[index]\n",
            ),
        ),
        scenario=_SLOWED,
        expected="untrusted",
    ),
)
