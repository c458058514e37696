"""Window rules that are not what they say."""

from tests.sabotage.entry import Entry, Swap

_NKP24, _PREVIOUS = "ncp-agent/policy/nkp24.go", "ncp-agent/policy/previous.go"
_CONTROL = "ncp-agent/policy/control.go"

ENTRIES = (
    Entry(
        "two-per-ack",
        "policies",
        "slow start left on: +2 per acknowledged packet",
        (Swap(_NKP24, "p.windows[c]++", "p.windows[c] += 2"),),
    ),
    Entry(
        "half-per-ack",
        "policies",
        "every second acknowledgement is forgotten",
        (Swap(_NKP24, "p.windows[c]++", "p.windows[c] += 0.5"),),
    ),
    Entry(
        "no-normalisation",
        "policies",
        "windows grow, and are not scaled back to their sum",
        (Swap(_NKP24, "p.total*(w/sum)", "w+0*sum"),),
        expected="untrusted",
    ),
    Entry(
        "half-the-sum",
        "policies",
        "windows are scaled to half of what the session agreed on",
        (Swap(_NKP24, "p.total*(w/sum)", "p.total/2*(w/sum)"),),
    ),
    Entry(
        "wrong-connection",
        "policies",
        "an acknowledgement counts for the connection beside its own",
        (Swap(_NKP24, "p.windows[c]++", "p.windows[(c+1)%len(p.windows)]++"),),
        expected="untrusted",
    ),
    Entry(
        "by-where-acked",
        "policies",
        "equal windows for all, whoever delivers",
        (
            Swap(
                _NKP24,
                "p.windows[c] = max(MinWindow, p.total*(w/sum))",
                "p.windows[c] = max(MinWindow, p.total/float64(len(p.windows))+0*w)",
            ),
        ),
    ),
    Entry(
        "halved-once-per-check",
        "policies",
        "one halving for all packets that time out together",
        (
            Swap(
                "ncp-agent/session/acks.go",
                "\t\ts.policy.TimedOut(c.index)\n\t\tfound = true",
                "\t\tif !found {\n\t\t\ts.policy.TimedOut(c.index)\n\t\t}\n\t\tfound = true",
            ),
        ),
        scenario="blackhole",
        expected="untrusted",
    ),
    Entry(
        "floor-of-16",
        "policies",
        "no window is ever less than 16 packets",
        (
            Swap(
                _NKP24,
                "TimedOut(c int) { p.windows[c] = max(MinWindow, p.windows[c]/2) }",
                "TimedOut(c int) { p.windows[c] = max(16, p.windows[c]/2) }",
            ),
        ),
        scenario="blackhole",
        expected="untrusted",
    ),
    Entry(
        "not-halved",
        "policies",
        "timeouts are counted and change nothing",
        (Swap(_NKP24, "TimedOut(c int) { p.windows[c] = max(MinWindow, p.windows[c]/2) }", "TimedOut(c int) {}"),),
        scenario="blackhole",
        expected="untrusted",
    ),
    Entry(
        "reported-not-used",
        "policies",
        "the window is reported, and whatever fits the socket is sent",
        (
            Swap(
                "ncp-agent/session/sender.go",
                "return float64(c.inFlight) < s.policy.Window(c.index)",
                "return c.inFlight < 1<<20",
            ),
        ),
        scenario="previous",
    ),
    Entry(
        "used-not-reported",
        "policies",
        "the session sends by half of the window that it reports",
        (
            Swap(
                "ncp-agent/session/sender.go",
                "return float64(c.inFlight) < s.policy.Window(c.index)",
                "return float64(c.inFlight) < s.policy.Window(c.index)/4",
            ),
        ),
        scenario="previous",
    ),
    Entry(
        "cap-of-512",
        "policies",
        "another release's cap under the same name",
        (Swap(_PREVIOUS, "previousCap   = 256", "previousCap   = 512"),),
        scenario="previous",
        expected="untrusted",
        otherwise={"verify": "fail"},  # the plan has the facts of another program than this checkout's
    ),
    Entry(
        "starved-path",
        "policies",
        "a scheduler that never takes its second path, and calls it the slower one",
        (Swap("ncp-agent/policy/minrtt.go", "return p.first(c, m)", "return c == 0"),),
        scenario="two-paths",
    ),
    Entry(
        "told-more-than-delivered",
        "policies",
        "a receiver that tells twice the goodput that it had",
        (Swap("ncp-agent/metrics/result.go", "float64(bytes) * 8 / d", "2 * float64(bytes) * 8 / d"),),
        scenario="two-paths",
        expected="untrusted",
    ),
    Entry(
        "never-more-than-eight",
        "policies",
        "a sender that never has more than eight packets under way",
        (Swap("ncp-agent/policy/path.go", "if inFlight >= p.cap() {", "if inFlight >= min(p.cap(), 8) {"),),
        scenario="late-comer",
    ),
    Entry(
        "never-less",
        "policies",
        "a sender that keeps a queue for itself whoever comes",
        (Swap(_CONTROL, "return 0.004 + 4/p.rates.value() + base/16", "return 0.5 + base/16"),),
        scenario="late-comer",
    ),
)
