"""The dashboards: what each shows, panel by panel."""

from collections.abc import Iterable
from functools import partial

from dashboards import source
from dashboards.document import dashboard, uid_of
from dashboards.panels import FULL, HALF, THIRD, VERDICT, bars, lines, number, outcomes, row, rows, rows_of_run
from dashboards.source import RUN, Curve, Curves, Variable, chosen, custom, of_one_run
from testbed.series import Series, kept, named
from testbed.series.influxql import select_dashboard, select_of_run, select_table
from testbed.series.one_clock import on_one_clock
from testbed.series.tables import CALIBRATION, CELLS, CHECKS, LATENESS


def _clocked(name: str) -> Series:
    """A series of the catalogue on the common clock."""
    return on_one_clock(named(name))


# Convergence: do the windows of a run follow the law, and does what is delivered?

_CONNECTION_TAGS = (RUN, "session", "connection")
_SESSION_TAGS = (RUN, "session")
_OF_ONE = Curves(_CONNECTION_TAGS, ("session",), "$tag_session/$tag_connection").of
_SESSION = Curves(_SESSION_TAGS, ("session",), "$tag_session").of
_BAND = Curves(_CONNECTION_TAGS, (), "$tag_connection").of
_BAND_OF_RATIO = Curves(_SESSION_TAGS, ("session",), "1").of


def _of_run(
    series: Series, variables: Iterable[str], function: str = "last", *, by: tuple[str, ...] = (), alias: str = ""
) -> Curve:
    """A figure over all of the run that is chosen."""
    return Curve(select_of_run(series, variables, function=function, by=by), alias, series.unit)


_RATIO = Curve(
    select_dashboard(
        _clocked("window_share"),
        _SESSION_TAGS,
        function="mean({}) / (1 - mean({}))",
        by=("session",),
        conditions=("\"connection\" = '1'",),
    ),
    "$tag_session/1 over the others",
    "ratio",
)
"""The ratio of the first connection's share to all others together; of two connections that of their windows."""


def _chosen_connections(of_run: str) -> list[Variable]:
    """Variables for a run's sessions and their connections."""
    sent = _clocked("sent")
    return [chosen("session", sent, within=(of_run,)), chosen("connection", sent, within=(of_run, "session"))]


_FAILED = number(
    "Checks that failed",
    "Failed checks of the run, those that could not be judged counted. Anything but 0 is "
    "explained in the table of checks below.",
    _of_run(named("verdict_failed"), (RUN,)),
    red_from=1,
    nothing="not judged yet",
)
_CHECKS = rows_of_run(
    "Checks",
    "What was judged: measured beside what was expected, with its tolerance, and why.",
    CHECKS,
    height=9,
    widths={"check": 240, "status": 110, "measured": 110, "expected": 260, "unit": 150},
    nothing="No checks yet. If none come: the run is on, or broke down (see its state).",
)

_shares = partial(lines, height=11, most=1)

_CONVERGENCE = dashboard(
    "convergence",
    "NCP: convergence",
    "The windows of one run, live: do they follow the law, and does what is delivered? 00:00:00 is the transfer's "
    "start. Without a choice it is the latest run, whichever that is by now.",
    [*of_one_run("convergence"), *_chosen_connections(RUN)],
    VERDICT,
    _FAILED,
    number(
        "Largest error",
        "Against the law: share of the window, measured − law, of each connection in the time that "
        "is judged. It should be below the check's tolerance, as a rule 3%.",
        _of_run(named("law_worst"), _CONNECTION_TAGS, "max", by=("session",), alias="$tag_session/$tag_connection"),
        nothing="not judged yet, or no law",
    ),
    number(
        "Settled after",
        "Seconds until the windows were in the ratio of the links' rates and stayed there. Nothing where they did not.",
        _of_run(_clocked("settled_s"), _SESSION_TAGS),
        nothing="not settled yet, or not asked",
    ),
    number(
        "Mean goodput",
        "Payload that the receiver got, by session, over all of the transfer so far.",
        _of_run(_clocked("goodput_bps"), _SESSION_TAGS, "mean", alias="$tag_session"),
        nothing="no goodput yet",
    ),
    number(
        "Database is behind by",
        "Age of the newest sample that the database has, at most, during the transfer: "
        "what is seen here is that much older. Red beyond 5 s.",
        _of_run(named("telemetry_lag_ms"), (RUN,), "max"),
        red_from=5000,
        nothing="not known (yet)",
    ),
    _shares(
        "Window shares and the law",
        "Each connection's share of its session's window on the band that the law and its tolerance allow, which "
        "is there from the start. A line that leaves its band does not converge as it must.",
        # The band is drawn first, so beneath.
        _BAND(law_lower="low", law_upper="high") + _OF_ONE(law_ahead="law") + _OF_ONE("window_share"),
    ),
    _shares(
        "Delivered shares and the law",
        "Each connection's share of the packets that the receiver got, over the last second; dashed the share of "
        "the window by the law. A busy link delivers its share from the first second, whatever its window.",
        _OF_ONE(law_ahead="law") + _OF_ONE("delivered_share"),
    ),
    lines(
        "Ratio of the windows",
        "The first connection's window over the others', on the band that is asked for in the end. The purple "
        "mark is where it had settled.",
        [*_BAND_OF_RATIO(ratio_lower="low", ratio_upper="high"), *_SESSION(ratio_ahead="asked"), _RATIO],
        height=9,
    ),
    lines(
        "Windows",
        "Packets. Their sum is the session's window, and does not change.",
        _OF_ONE("window_packets"),
        height=9,
    ),
    _CHECKS,
    lines("In flight", "Packets sent and not yet acknowledged: no more than the window.", _OF_ONE("in_flight_packets")),
    lines(
        "RTT",
        "With the wait for the acknowledgement. Twice the link's delay, the queue and the interval of "
        "acknowledgements.",
        _OF_ONE("rtt_ms"),
    ),
    lines("RTO", "When a packet counts as lost. Below the RTT packets would be sent twice.", _OF_ONE("rto_ms")),
    lines(
        "Delivery rate",
        "As the receiver sees it, over the last second. A busy link delivers its rate.",
        _OF_ONE("delivered_pps"),
    ),
    lines(
        "Resends", "Packets sent again. On links without loss there should be none.", _OF_ONE("resent", function="rate")
    ),
    lines("Goodput", "Payload that the receiver got, over the last second.", _SESSION("goodput_bps")),
    lines(
        "Waiting for earlier data",
        "At the receiver: what came over one link and waits for the other.",
        _SESSION("reorder_bytes"),
        soft_most=1024,
    ),
)


# Links: did the network match its configuration, and can the run be trusted?

_LINK = Curves((RUN, "link", "direction"), ("direction",), "$tag_link $tag_direction").of

_third = partial(lines, width=THIRD)

_LINKS = dashboard(
    "links",
    "NCP: links",
    "The emulated links of one run: asked against achieved, queues, drops, lateness, and the host's load. 00:00:00 "
    "is the transfer's start.",
    [
        *of_one_run("links"),
        chosen("link", _clocked("any_link_rate_bps"), within=(RUN,)),
        custom("direction", ("ab", "ba")),
    ],
    rows_of_run(
        "Calibration",
        "Every link before the run, both directions: asked, measured, and how far off. The last "
        "column is the larger error in parts of what the scenario allows: above 100% the run does not start.",
        CALIBRATION,
        height=7,
        widths={"direction": 50, "rate_bps": 105, "rate_bps_asked": 105, "rate_error": 105, "delay_ms": 95}
        | {"delay_ms_asked": 105, "delay_error_ms": 110, "loss": 80, "loss_asked": 100, "of_limit": 150},
        titles={"rate_bps": "rate", "rate_bps_asked": "asked rate", "rate_error": "rate error", "delay_ms": "delay"}
        | {"delay_ms_asked": "asked delay", "delay_error_ms": "delay error", "loss_asked": "asked loss"}
        | {"of_limit": "of what is allowed", "direction": "dir."},
        units={"rate_bps": "bps", "rate_bps_asked": "bps", "rate_error": "percentunit", "delay_ms": "ms"}
        | {"delay_ms_asked": "ms", "delay_error_ms": "ms"}
        | dict.fromkeys(("loss", "loss_asked", "of_limit"), "percentunit"),
        nothing="No links measured yet; a virtual run's never are.",
    ),
    rows_of_run(
        "Lateness over the whole run",
        "How late the links' middle let frames go, by what the rule of trust looks at: 99 of 100 frames are "
        "earlier than the first figure. Above its limit the run is not trusted.",
        LATENESS,
        width=HALF,
        widths={"direction": 50, "p99_ms": 90, "p99_limit_ms": 90, "max_ms": 90, "max_limit_ms": 90},
        titles={"direction": "dir.", "p99_ms": "99%", "p99_limit_ms": "limit", "max_ms": "latest"}
        | {"max_limit_ms": "its limit"},
        units=dict.fromkeys(("p99_ms", "p99_limit_ms", "max_ms", "max_limit_ms"), "ms"),
        nothing="Not known yet: when the run has ended, and only where the middle is the relay.",
    ),
    lines(
        "Lateness, 99th percentile of each interval",
        "When frames were late. A single high interval does not make a run untrusted: its 99th percentile is that "
        "of a few frames.",
        _LINK("any_link_lateness_p99_us"),
    ),
    lines(
        "Host",
        "Shares of all cores: a starved host makes late links. What the hypervisor takes should be next to nothing.",
        Curves((RUN,), (), "CPU in use").of("host_cpu")
        + Curves((RUN,), (), "taken by the hypervisor").of("host_steal"),
        most=1,
        width=FULL,
        height=7,
    ),
    row("Link $link", "link"),
    lines(
        "Rate of $link",
        "The rate that crossed it; dashed the rates set at the hosts' queues and in the middle. "
        "Above the dashed line the link would be faster than asked.",
        _LINK("any_link_achieved_bps", shaped_bps="asked", any_link_rate_bps="asked of the middle"),
    ),
    lines(
        "Delay of $link",
        "One way: configured, and achieved by the middle. They should be on each other.",
        _LINK("any_link_achieved_delay_ms", any_link_delay_ms="asked"),
    ),
    _third(
        "Loss of $link",
        "Configured, and achieved in the middle, of each interval's frames. Loss that nobody asked for makes a "
        "run untrusted.",
        _LINK("any_link_achieved_loss", any_link_loss="asked"),
        soft_most=0.01,
    ),
    _third(
        "Waiting in $link",
        "Backlog in the middle: what is on its way, and so its delay times its rate.",
        _LINK("any_link_backlog_bytes"),
        soft_most=1024,
    ),
    _third(
        "Drops of $link",
        "Frames dropped in the middle, asked losses among them. Without asked loss none.",
        _LINK("any_link_drops", function="rate"),
    ),
)


# Compare: two runs over one time axis from 0.


def _of_two(name: str, function: str = "", *, by_connection: bool = True) -> list[Curve]:
    """Both runs' curves of a series, by connection or by session."""
    variables, end = (("session", "connection"), "/$tag_connection") if by_connection else (("session",), "")
    return [
        curve
        for which, run in (("1st", source.SHOWN), ("2nd", source.OTHER))
        for curve in Curves(
            (f"run={run}", *variables), ("policy", "session"), f"{which} $tag_policy $tag_session{end}"
        ).of(name, function=function)
    ]


_BAND_OF_TWO = Curves((f"run={source.SHOWN}|{source.OTHER}", "session", "connection"), (), "$tag_connection").of

_COMPARE = dashboard(
    "compare",
    "NCP: compare",
    "Two runs on one clock: 00:00:00 is each transfer's start. Without a choice they are the latest two of a scenario; "
    "choose at the top, or by a click on a run in the list.",
    [*of_one_run("convergence", compared=True), *_chosen_connections(RUN)],
    _shares(
        "Window shares",
        "Share of the session's window, on the band that the law and its tolerance allow. Runs of one scenario and "
        "policy should lie on each other.",
        [
            *_BAND_OF_TWO(function="min", law_lower="low"),
            *_BAND_OF_TWO(function="max", law_upper="high"),
            *_of_two("window_share"),
        ],
    ),
    _shares("Delivered shares", "Share of what the receiver got, over the last second.", _of_two("delivered_share")),
    lines("Windows", "Packets that may be unacknowledged, by connection.", _of_two("window_packets")),
    lines("In flight", "Packets sent and not yet acknowledged.", _of_two("in_flight_packets")),
    lines("RTT", "With the wait for the acknowledgement.", _of_two("rtt_ms")),
    lines("Delivery rate", "As the receiver sees it.", _of_two("delivered_pps")),
    lines(
        "Goodput",
        "Payload that the receiver got: the higher, and the sooner at its end, the better.",
        _of_two("goodput_bps", by_connection=False),
    ),
    lines("Resends", "Packets sent again. On links without loss there should be none.", _of_two("resent", "rate")),
)


# Speed table: how fast each setting of links is with each policy, beside what others measured.

_NO_TABLE = "No points yet. If none come: ./run.sh run speed-table makes a table."

_MEDIAN = named("cell_median")
_CELL = ("run=made", "figure", "row", "column")
_IN_ORDER = [("sortBy", {"sort": [{"field": field}]}) for field in ("column", "position")]
"""Rows as in the table, columns as bars are: what InfluxDB answers of one time has no order."""
_AS_MATRIX = ("groupingToMatrix", {"columnField": "column", "rowField": "row", "valueField": "median"})

_OVER_TABLES = Curve(
    select_dashboard(_MEDIAN, ("scenario=table", "figure", "row", "column"), by=("column", "engine", "variant")),
    "$tag_column, $tag_engine $tag_variant",
    "figure",
)

_cells = partial(rows, query=select_table(CELLS, _CELL), height=10, nothing=_NO_TABLE)

_SPEED_TABLE = dashboard(
    "speed-table",
    "NCP: speed table",
    "Tables of runs: a figure by row and column, medians of repetitions, in the unit that its name ends in.",
    [
        # Not "scenario" and "run": those of a run that another dashboard shows are no tables.
        chosen("scenario=table", _MEDIAN, several=False, first="speed-table"),
        # A table's name begins with its time.
        chosen("run=made", _MEDIAN, within=("scenario=table",), several=False, newest_first=True),
        chosen("figure", _MEDIAN, within=("scenario=table",), several=False, first="goodput_mib_s"),
        source.first_of("in_words", "title", CELLS, ("run=made", "figure")),
        source.rows_of(CELLS, ("scenario=table", "run=made")),
        chosen("column", _MEDIAN, within=("scenario=table", "run=made")),
    ],
    _cells(
        "$in_words: medians of $table, table $made",
        "Rows are settings of links, columns policies and who else measured them (published, upstream).",
        titles={"row\\column": "$in_words"},
        widths={"/: /": 230},
        transformations=[*_IN_ORDER, _AS_MATRIX],
    ),
    _cells(
        "$in_words: cells",
        "With the lowest and highest of n repetitions, and what the links could carry at most (bound). What "
        "others measured has n 0.",
        hidden=("Time", "time", "position", "figure"),
        titles={"median": "$in_words"},
        widths={"column": 230, "median": 300, "n": 60}
        | dict.fromkeys(("lowest", "highest", "bound", "engine", "variant"), 100),
        transformations=_IN_ORDER,
    ),
    row("Row $row", "row"),
    bars(
        "Row $row: $in_words",
        "Each policy beside what others measured. No bar can be longer than the bound of the links, which is the "
        "axis's end.",
        select_of_run(_MEDIAN, _CELL, by=("column",)),
        "$tag_column",
        bound=select_of_run(named("cell_bound"), _CELL, function="max"),
        height=9,
        nothing=_NO_TABLE,
    ),
    lines(
        "Row $row, table by table: $in_words",
        "Median of each table's repetitions, in the figure's unit, by engine and form. A policy's should stay the "
        "same.",
        [_OVER_TABLES],
        points=True,
        height=9,
        nothing=_NO_TABLE,
    ),
    over_weeks=True,
)


# TCP experiments: what the kernel says of its sockets, and iperf3 of its flows.

_TCP_SOCKET = Curves((RUN, "flow", "role"), ("role", "socket"), "$tag_flow $tag_role $tag_socket").of
_IPERF3 = Curves((RUN,), ("congestion_control",), "iperf3-$tag_flow $tag_congestion_control").of

_FLOWS = _clocked("tcp_cwnd_packets")

_TCP = dashboard(
    "tcp",
    "NCP: TCP experiments",
    "TCP_INFO and queues of the sockets of one run, receivers' dotted, and the flows of iperf3. 00:00:00 is the "
    "transfer's start.",
    [*of_one_run("tcp"), chosen("flow", _FLOWS, within=(RUN,)), chosen("role", _FLOWS, within=(RUN,))],
    VERDICT,
    _FAILED,
    {**_CHECKS, "gridPos": {"h": 4, "w": 16}},
    lines(
        "Congestion window",
        "Dashed the slow-start threshold, where it is not infinite.",
        _TCP_SOCKET("tcp_cwnd_packets", tcp_ssthresh_packets="threshold"),
    ),
    lines("In flight", "Unacknowledged, as the kernel counts it.", _TCP_SOCKET("tcp_in_flight_packets")),
    lines("RTT", "Smoothed; dashed the least.", _TCP_SOCKET("tcp_rtt_ms", tcp_min_rtt_ms="least")),
    lines("RTO", "When the kernel takes a segment for lost.", _TCP_SOCKET("tcp_rto_ms")),
    lines(
        "Windows advertised",
        "By the other end; dashed what the end itself has room for (rcv_space).",
        _TCP_SOCKET("tcp_peer_window_bytes", tcp_receive_space_bytes="space"),
    ),
    lines(
        "Delivery rate",
        "By the sender; dashed the rate of pacing.",
        _TCP_SOCKET("tcp_delivery_bps", tcp_pacing_bps="pacing"),
    ),
    lines("Goodput of iperf3", "As its server receives it, by half seconds.", _IPERF3("iperf3_goodput_bps")),
    lines(
        "Resends", "Segments sent again. Without loss there should be none.", _TCP_SOCKET("tcp_resent", function="rate")
    ),
    lines(
        "Held for lost",
        "Segments that the kernel takes for lost and has not sent again.",
        _TCP_SOCKET("tcp_lost_packets"),
        soft_most=1,
    ),
    lines(
        "Send queues",
        "Bytes in the socket, sent or not, and not yet acknowledged.",
        _TCP_SOCKET("socket_send_queue_bytes"),
    ),
    lines("Receive queues", "Bytes that wait for the application.", _TCP_SOCKET("socket_receive_queue_bytes")),
)


# NDN: a consumer's round trips and window, and the backlog and marks of the forwarders' faces.

_CONSUMER = Curves((RUN, "node"), (), "$tag_node").of
_FACE = Curves((RUN, "node", "face"), (), "$tag_face", "max").of
_SOCKET = Curves((RUN,), ("role",), "$tag_flow $tag_role").of

_FACES = _clocked("ndn_backlog_bytes")

_number = partial(number, nothing="none yet")


def _total(name: str, function: str = "max") -> Curve:
    """One figure of the consumer over all of the run."""
    return _of_run(_clocked(name), (RUN, "node"), function)


_NDN = dashboard(
    "ndn",
    "NCP: NDN",
    "One fetch of an object: the consumer's round trips and window, and what forwarders' sockets hold and mark. "
    "00:00:00 is the transfer's start.",
    [*of_one_run("ndn"), chosen("node", _FACES, within=(RUN,)), chosen("face", _FACES, within=(RUN, "node"))],
    VERDICT,
    _number("RTT", "Mean of all segments so far.", _total("ndn_rtt_ms", "mean")),
    _number("Mean goodput", "Content, over all of the fetch so far.", _total("ndn_goodput_bps", "mean")),
    _number("Marked", "Data packets that came with a mark.", _total("ndn_marks")),
    _number(
        "Retransmissions", "Interests sent again. Without loss there should be none.", _total("ndn_retransmissions")
    ),
    _number("Cuts of the window", "How often it was cut, by marks and by losses.", _total("ndn_window_cuts")),
    lines(
        "RTT",
        "Mean of the interval's segments; dashed when an Interest counts as lost.",
        _CONSUMER("ndn_rtt_ms", ndn_rto_ms="RTO"),
    ),
    lines("Window", "Interests; dashed those in flight.", _CONSUMER("ndn_window", ndn_in_flight="in flight")),
    lines(
        "Backlog of the sockets",
        "The largest of each interval, by the forwarder (SIOCOUTQ, and over TCP what waits for the socket).",
        _FACE("ndn_backlog_max_bytes"),
    ),
    lines(
        "Packets that wait for the socket",
        "The forwarder's own queue; over UDP there is none.",
        _FACE("ndn_queue_packets"),
        soft_most=1,
    ),
    lines("Marks set", "By the forwarders, when a socket holds too much.", _FACE("ndn_marks_set", function="rate")),
    lines(
        "Marks received", "By the consumer, which may cut its window for them.", _CONSUMER("ndn_marks", function="rate")
    ),
    lines(
        "Dropped, as the socket was full",
        "By the forwarders: marks came too late or were ignored.",
        _FACE("ndn_drops", function="rate"),
    ),
    lines(
        "Retransmissions",
        "Interests sent again, after a loss or a timeout.",
        _CONSUMER("ndn_retransmissions", function="rate"),
    ),
    lines("Goodput", "Content that arrived, over the last second.", _CONSUMER("ndn_goodput_bps")),
    lines(
        "Send queues, by the kernel",
        "The same sockets as the collector samples them, from outside.",
        _SOCKET("socket_send_queue_bytes"),
    ),
)


# Fleet: every scenario's verdicts and key figures over weeks, of nightly runs and others.

_OF_VARIANT = ("scenario", "policy", "engine", "variant")
_BY = ("policy", "engine", "variant")
_VARIANT = "$tag_policy $tag_engine $tag_variant"

_NOT_JUDGED = "No verdict of these runs in this span of time yet."

# The outcome's code is of the last run of each day; a day without one is there as well.
_OUTCOME = 'last({}) + last("trusted") + 3 * last("broken")'
_EVERY_DAY = select_dashboard(kept.PASSED, _OF_VARIANT, function=_OUTCOME, by=_BY, every="1d").replace("none", "null")
_SUMMARY = 'last("verdict") AS "verdict", count({}) AS "runs", sum({}) AS "passed", mean("duration_s") AS "duration_s"'

_by_scenario = partial(_third, height=11, points=True, nothing=_NOT_JUDGED)


def _by_day(series: Series, alias: str, expected: str = "") -> Curve:
    return Curve(select_dashboard(series, _OF_VARIANT, function="sum", every="1d"), alias, "runs", expected)


def _by_run(series: Series, alias: str, by: tuple[str, ...] = _BY) -> list[Curve]:
    return [Curve(select_dashboard(series, _OF_VARIANT, by=by), alias, series.unit)]


_FLEET = dashboard(
    "fleet",
    "NCP: fleet",
    "The history of all scenarios: verdicts and key figures, run by run.",
    [chosen("scenario", kept.PASSED), *(chosen(tag, kept.PASSED, within=("scenario",)) for tag in _BY)],
    rows(
        "Scenarios",
        "The latest verdict of each scenario by policy, engine and variant, and how many of its runs in this span "
        "passed. Choose scenarios or a variant at the top for fewer rows.",
        select_dashboard(kept.PASSED, _OF_VARIANT, function=_SUMMARY, by=_BY, every=""),
        height=12,
        hidden=("Time", "time"),
        titles={"verdict": "latest verdict", "duration_s": "mean transfer"},
        widths={"verdict": 160},
        units={"duration_s": "s"},
        nothing=_NOT_JUDGED,
    ),
    lines(
        "Passed in a day",
        "Of all chosen runs of an engine, by day in UTC; dashed how many there were. The two should be one.",
        [_by_day(kept.DAILY_PASSED, "$tag_engine"), _by_day(kept.DAILY_RUNS, "runs $tag_engine", "runs")],
        width=FULL,
        points=True,
        nothing="Summed up by the hour: nothing yet.",
    ),
    rows(
        "History",
        "What became of runs, kept for ever, the latest first.",
        select_table(kept.VERDICTS, _OF_VARIANT, newest=500, in_span=True),
        height=10,
        titles={"run_id": "run", "duration_s": "transfer"},
        widths={"Time": 170, "scenario": 150, "policy": 100, "engine": 90, "variant": 80, "run_id": 190}
        | {"verdict": 120, "duration_s": 90},
        units={"duration_s": "s"},
        nothing=_NOT_JUDGED,
    ),
    row("$scenario", "scenario"),
    outcomes(
        "Verdicts of $scenario",
        "By day, of the last run of each day (UTC): green passed, red failed, amber is not to be trusted, purple broke "
        "down.",
        _EVERY_DAY,
        _VARIANT,
        height=9,
        nothing=_NOT_JUDGED,
    ),
    _by_scenario(
        "Key figures of $scenario",
        "What each check measured, in parts of what it expects (of what it allows, where nothing at all would be "
        "best): those stay below 100%, others near it.",
        _by_run(kept.OF_EXPECTED, f"$tag_figure, {_VARIANT}", ("scenario", *_BY)),
    ),
    _by_scenario(
        "Goodput of $scenario",
        "Payload of all of a session's transfer. It should not fall.",
        _by_run(kept.GOODPUT, f"$tag_session, {_VARIANT}", ("scenario", *_BY)),
    ),
    _by_scenario(
        "Time of the transfer of $scenario",
        "From its start to the last packet. It should stay the same.",
        _by_run(kept.DURATION, _VARIANT),
    ),
    over_weeks=True,
)

DASHBOARDS = {
    document["uid"].removeprefix(uid_of("")): document
    for document in (_CONVERGENCE, _LINKS, _COMPARE, _SPEED_TABLE, _TCP, _NDN, _FLEET)
}
