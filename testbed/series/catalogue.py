"""The catalogue of series: the one place that says which measurement, field and tags a name stands for.

Checks, plots, exports and dashboards all take their series from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from testbed.series import collected, ndn
from testbed.series.series import Series


def _of_connection(name: str, field_name: str, title: str, unit: str, role: str = "sender") -> Series:
    return Series(name, "ncp_connection", field_name, "connection", title, unit, (("role", role),))


def _of_session(name: str, field_name: str, title: str, unit: str, role: str) -> Series:
    return Series(name, "ncp_session", field_name, "session", title, unit, (("role", role),))


def _of_link(name: str, field_name: str, title: str, unit: str, direction: str = "ab") -> Series:
    return Series(name, "link", field_name, "link", title, unit, (("direction", direction),))


def _of_any_link(name: str, field_name: str, title: str, unit: str) -> Series:
    return Series(name, "link", field_name, "link", title, unit)


_OF_A_RUN = (("check", ""),)
"""The verdict on a run, not those on its checks."""

_ALL = (
    _of_connection("window_packets", "window_packets", "Window", "packets"),
    _of_connection("window_share", "window_share", "Share of the session's window", ""),
    _of_connection("in_flight_packets", "in_flight_packets", "In flight", "packets"),
    _of_connection("rtt_ms", "rtt_ms", "RTT, with the wait for the ACK", "ms"),
    _of_connection("rto_ms", "rto_ms", "RTO", "ms"),
    # Delivery is what the receiver saw arrive; the sender's view of it is its ACKs.
    _of_connection("delivered_pps", "delivered_pps", "Delivery rate", "packets/s", role="receiver"),
    _of_connection("delivered_share", "delivered_share", "Share of what was delivered", "", role="receiver"),
    _of_connection("acknowledged_pps", "delivered_pps", "Acknowledged", "packets/s"),
    _of_connection("acknowledged_share", "delivered_share", "Share of what was acknowledged", ""),
    _of_connection("sent", "sent", "Sent", "packets"),
    _of_connection("resent", "resent", "Resent", "packets"),
    _of_connection("acked", "acked", "Acknowledged", "packets"),
    _of_connection("lost", "lost", "Timed out", "packets"),
    _of_session("goodput_bps", "goodput_bps", "Goodput", "bit/s", role="receiver"),
    _of_session("received_bytes", "bytes", "Received", "bytes", role="receiver"),
    _of_session("send_window_used", "send_window_used", "Session window in use", "bytes", role="sender"),
    _of_session("reorder_bytes", "reorder_bytes", "Waiting for earlier data", "bytes", role="receiver"),
    _of_link("link_rate_bps", "rate_bps", "Configured rate", "bit/s"),
    _of_link("link_achieved_bps", "achieved_bps", "Achieved rate", "bit/s"),
    _of_link("link_delay_ms", "delay_ms", "Configured one-way delay", "ms"),
    _of_link("link_achieved_delay_ms", "achieved_delay_ms", "Achieved one-way delay", "ms"),
    _of_link("link_achieved_loss", "achieved_loss", "Achieved loss", ""),
    _of_link("link_backlog_bytes", "backlog_bytes", "Backlog", "bytes"),
    _of_link("link_drops", "drops", "Drops", "packets"),
    _of_link("link_lateness_us", "lateness_us", "Lateness, median", "µs"),
    _of_link("link_lateness_p99_us", "lateness_p99_us", "Lateness, 99th percentile", "µs"),
    _of_link("reverse_lateness_p99_us", "lateness_p99_us", "Lateness back, 99th percentile", "µs", "ba"),
    # Links in both directions, for dashboards; judges look at one direction at a time.
    _of_any_link("any_link_rate_bps", "rate_bps", "Configured rate", "bit/s"),
    _of_any_link("any_link_achieved_bps", "achieved_bps", "Achieved rate", "bit/s"),
    _of_any_link("any_link_delay_ms", "delay_ms", "Configured one-way delay", "ms"),
    _of_any_link("any_link_achieved_delay_ms", "achieved_delay_ms", "Achieved one-way delay", "ms"),
    _of_any_link("any_link_loss", "loss", "Configured loss", ""),
    _of_any_link("any_link_achieved_loss", "achieved_loss", "Achieved loss", ""),
    _of_any_link("any_link_backlog_bytes", "backlog_bytes", "Backlog", "bytes"),
    _of_any_link("any_link_drops", "drops", "Drops", "packets"),
    _of_any_link("any_link_lateness_p99_us", "lateness_p99_us", "Lateness, 99th percentile", "µs"),
    Series("iperf3_goodput_bps", "iperf3", "goodput_bps", "flow", "Goodput of iperf3", "bit/s"),
    Series("host_cpu", "host", "cpu", "run", "CPU in use", ""),
    Series("host_steal", "host", "steal", "run", "CPU taken by the hypervisor", ""),
    Series("host_run_queue", "host", "run_queue", "run", "Runnable tasks", "tasks"),
    Series("law_share", "law", "expected_share", "connection", "Share by the law", ""),
    Series("law_error", "law", "error", "connection", "Share, measured − law", ""),
    Series("law_ahead", "law_ahead", "expected", "connection", "Share by the law", ""),
    Series("law_lower", "law_ahead", "lower", "connection", "Least share that is allowed", ""),
    Series("law_upper", "law_ahead", "upper", "connection", "Largest share that is allowed", ""),
    Series("ratio_ahead", "ratio_ahead", "expected", "connection", "Ratio of the windows asked", ""),
    Series("ratio_lower", "ratio_ahead", "lower", "connection", "Least ratio that is allowed", ""),
    Series("ratio_upper", "ratio_ahead", "upper", "connection", "Largest ratio that is allowed", ""),
    Series("law_worst", "law_worst", "error", "connection", "Largest error against the law", ""),
    Series("settled_s", "event", "at_s", "session", "Settled after", "s", (("kind", "settled"),)),
    Series("verdict_not_passed", "verdict", "not_passed", "run", "Not passed", "", _OF_A_RUN),
    Series("verdict_broken", "verdict", "broken", "run", "Broke down", "", _OF_A_RUN),
    Series("verdict_failed", "verdict", "failed", "run", "Checks that failed", "checks", _OF_A_RUN),
    Series("check_failed", "verdict", "failed", "check", "Failed", ""),
    Series("calibration_of_limit", "calibration", "of_limit", "link", "Error, in parts of the limit", ""),
    Series("calibration_rate_bps", "calibration", "rate_bps", "link", "Rate measured", "bit/s"),
    Series("calibration_rate_bps_asked", "calibration", "rate_bps_asked", "link", "Rate asked", "bit/s"),
    Series("calibration_delay_ms", "calibration", "delay_ms", "link", "Delay measured", "ms"),
    Series("calibration_delay_ms_asked", "calibration", "delay_ms_asked", "link", "Delay asked", "ms"),
    Series("lateness_p99_ms", "lateness", "p99_ms", "link", "Lateness, 99th percentile of the run", "ms"),
    Series("cell_bound", "table_cell", "bound", "row", "What the links carry at most", ""),
    Series("cell_median", "table_cell", "median", "row", "Median", ""),
    Series("telemetry_lag_ms", "telemetry_lag", "lag_ms", "run", "The database is behind by", "ms"),
)

CATALOGUE: Mapping[str, Series] = MappingProxyType(
    {series.name: series for series in (*_ALL, *collected.ALL, *ndn.ALL)}
)


def named(name: str) -> Series:
    """The series of that name; ValueError lists the names there are."""
    try:
        return CATALOGUE[name]
    except KeyError:
        raise ValueError(f"there is no series {name!r}; there are {', '.join(CATALOGUE)}") from None
