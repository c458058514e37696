"""Links: did the network match its configuration, and can the run be trusted?"""

from __future__ import annotations

from dashboards import panels
from dashboards.document import dashboard
from dashboards.panels import lines, row, rows_of_run
from dashboards.source import Curves
from dashboards.variables import RUN, chosen, custom, of_one_run
from testbed.series import named
from testbed.series.one_clock import on_one_clock
from testbed.series.tables import CALIBRATION, LATENESS

NAME = "links"

_LINK = Curves((RUN, "link", "direction"), ("direction",), "$tag_link $tag_direction").of

PANELS = [
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
        nothing="The links were not measured: a virtual run has none, and one that has just begun not yet.",
    ),
    rows_of_run(
        "Lateness over the whole run",
        "How late the links' middle let frames go, by what the rule of trust looks at: 99 of 100 frames are "
        "earlier than the first figure. Above its limit the run is not trusted.",
        LATENESS,
        width=panels.HALF,
        widths={"direction": 50, "p99_ms": 90, "p99_limit_ms": 90, "max_ms": 90, "max_limit_ms": 90},
        titles={"direction": "dir.", "p99_ms": "99%", "p99_limit_ms": "limit", "max_ms": "latest"}
        | {"max_limit_ms": "its limit"},
        units=dict.fromkeys(("p99_ms", "p99_limit_ms", "max_ms", "max_limit_ms"), "ms"),
        nothing="Known when the run has ended, and only where the middle is the relay.",
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
        Curves((RUN,), (), "CPU in use").of("host_cpu"),
        Curves((RUN,), (), "taken by the hypervisor").of("host_steal"),
        most=1,
        width=panels.FULL,
        height=7,
    ),
    row("Link $link", "link"),
    lines(
        "Rate of $link",
        "The rate that crossed it; dashed the rates set at the hosts' queues and in the middle. "
        "Above the dashed line the link would be faster than asked.",
        _LINK("any_link_achieved_bps"),
        _LINK("shaped_bps", "asked"),
        _LINK("any_link_rate_bps", "asked of the middle"),
    ),
    lines(
        "Delay of $link",
        "One way: configured, and achieved by the middle. They should be on each other.",
        _LINK("any_link_achieved_delay_ms"),
        _LINK("any_link_delay_ms", "asked"),
    ),
    lines(
        "Loss of $link",
        "Configured, and achieved in the middle, of each interval's frames. Loss that nobody asked for makes a "
        "run untrusted.",
        _LINK("any_link_achieved_loss"),
        _LINK("any_link_loss", "asked"),
        width=panels.THIRD,
        soft_most=0.01,
    ),
    lines(
        "Waiting in $link",
        "Backlog in the middle: what is on its way, and so its delay times its rate.",
        _LINK("any_link_backlog_bytes"),
        width=panels.THIRD,
        soft_most=1024,
    ),
    lines(
        "Drops of $link",
        "Frames dropped in the middle, asked losses among them. Without asked loss none.",
        _LINK("any_link_drops", function="rate"),
        width=panels.THIRD,
    ),
]

DASHBOARD = dashboard(
    NAME,
    "NCP: links",
    "The emulated links of one run: asked against achieved, queues, drops, lateness, and the host's load. 00:00:00 "
    "is the transfer's start.",
    [
        *of_one_run(NAME),
        chosen("link", on_one_clock(named("any_link_rate_bps")), within=(RUN,)),
        custom("direction", ("ab", "ba")),
    ],
    PANELS,
)
