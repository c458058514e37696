"""A scenario's timeline as the plan has it: single actions at times, in order.

An action is ``{"at_s", "kind", "text", …}``: ``set`` (link, direction, properties named as in ``internal/linkmodel``),
``carrier`` (link, up) or ``pause_read`` (connection, for_s). What lasts or repeats (blackhole, flap, ramp) is
unfolded into them here, so that whoever carries them out needs no state.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar, cast

from testbed.errors import BadInput, refuse_unknown
from testbed.plan.intervals import at, link_intervals
from testbed.plan.model import DIRECTIONS, Action, CarrierAction, Directions, Properties, SetAction
from testbed.scenario.timeline import Blackhole, Carrier, Flap, PauseRead, Ramp, SetLink, TimelineEvent
from topologies.impairments import NUMBERS
from topologies.impairments.loss import GilbertElliott
from topologies.link import Link
from topologies.units import as_number, as_written

_Number = TypeVar("_Number", float, Fraction)
_AS_ASKED = ("delay_ms", "jitter_ms", "loss", *NUMBERS)
"""Properties that a plan has as the event does."""


def unfold(
    timeline: Sequence[TimelineEvent],
    links: Sequence[Link],
    hops: Mapping[str, Sequence[Link]],
    connections: int,
    place_of: Callable[..., str] = lambda *names: ".".join(names),
) -> list[Action]:
    """All actions in time order.

    ``hops`` are the links that a link consists of, where it is a path of several. ``connections`` is how many
    the first session has. ``place_of`` tells a part of the scenario in messages.

    Raises:
        BadInput: an event names an unknown link or connection, or a property that its link can't change.
    """
    by_name = {link["name"]: link for link in links}
    actions: list[Action] = []
    for number, event in sorted(enumerate(timeline, start=1), key=lambda item: item[1].at_s):
        where = partial(place_of, "timeline", f"{number}")
        link = None
        if not isinstance(event, PauseRead):
            refuse_unknown("timeline.no-such-link", "link", event.link, by_name, where("link"))
            link = by_name[event.link]
            if isinstance(event, SetLink) and event.jitter_ms is not None and link.get("jitter") == "samples":
                raise BadInput(
                    "timeline.jitter-from-file",
                    f"{where('jitter')}: link {event.link!r} has its jitter from a file, which no event changes; give "
                    "the link jitter: {uniform: 5ms} or {normal: 5ms} instead",
                )
        else:
            known = range(1, connections + 1)
            refuse_unknown("timeline.no-such-connection", "connection", event.connection, known, where("connection"))
        actions += _actions(event, link, actions)
    # A sort that keeps the file's order at equal times.
    ordered = sorted(actions, key=lambda action: action["at_s"])
    return [each for action in ordered for each in _over_hops(action, hops)]


def _actions(event: TimelineEvent, link: Link | None, before: Sequence[Action]) -> Iterable[Action]:
    if isinstance(event, PauseRead):
        text = f"reader of connection {event.connection} paused for {event.for_s:g} s"
        at_s = _rounded(event.at_s)
        return [
            {"at_s": at_s, "kind": "pause_read", "text": text, "connection": event.connection, "for_s": event.for_s}
        ]
    assert link is not None
    match event:
        case SetLink():
            return [_set(event.at_s, link, event.direction, _properties(event, link))]
        case Carrier():
            return [_carrier(event.at_s, link, up=event.do == "up")]
        case Flap():
            return _flap(event, link)
        case Blackhole():
            return _blackhole(event, link, before)
        case Ramp():
            return _ramp(event, link)


def _over_hops(action: Action, paths: Mapping[str, Sequence[Link]]) -> Iterator[Action]:
    """The actions on each link of a path: the rate is every hop's, the delay is shared evenly, impairments and carrier
    are the first hop's."""
    if action["kind"] == "pause_read" or not (hops := paths.get(action["link"])):
        yield action
    elif action["kind"] == "carrier":
        yield _carrier(action["at_s"], hops[0], up=action["up"])
    else:
        for number, hop in enumerate(hops):
            requested = action["properties"]
            own = requested.copy() if number == 0 else Properties()
            if "delay_ms" in requested:
                own["delay_ms"] = requested["delay_ms"] / len(hops)
            if "rate_bps" in requested:
                own["rate_bps"] = requested["rate_bps"]
            if own:
                yield _set(action["at_s"], hop, action["direction"], own)


def _losses(link: Link) -> Properties:
    """The loss model."""
    if "gilbert_elliott" in link:
        return {"gilbert_elliott": link["gilbert_elliott"]}
    return {"loss": link["loss"]}


def _rounded(at_s: float) -> float:
    # To the microsecond: a ramp's steps are sums of decimal fractions.
    return round(at_s, 6)


def _set(at_s: float, link: Link, direction: Directions, properties: Properties) -> SetAction:
    what = ", ".join(f"{name} {_short(value)}" for name, value in properties.items())
    way = "" if direction == "both" else f" {direction}"
    return {
        "at_s": _rounded(at_s),
        "kind": "set",
        "text": f"link {link['name']}{way}: {what}",
        "link": link["name"],
        "direction": direction,
        "properties": properties.copy(),
    }


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def _carrier(at_s: float, link: Link, *, up: bool) -> CarrierAction:
    text = f"link {link['name']} {'up' if up else 'down'}"
    return {"at_s": _rounded(at_s), "kind": "carrier", "text": text, "link": link["name"], "up": up}


def _properties(event: SetLink, link: Link) -> Properties:
    numbers = {name: value for name in _AS_ASKED if (value := getattr(event, name)) is not None}
    requested = cast(Properties, numbers)
    if event.rate is not None:
        requested["rate_bps"] = event.rate.to_bps(link["frame_bytes"])
    if event.burst_loss is not None:
        requested["gilbert_elliott"] = cast(GilbertElliott, event.burst_loss.model_dump())
    return requested


def _flap(event: Flap, link: Link) -> Iterator[Action]:
    for turn in range(event.times):
        start_s = event.at_s + turn * (event.down_s + event.up_s)
        yield _carrier(start_s, link, up=False)
        yield _carrier(start_s + event.down_s, link, up=True)


def _blackhole(event: Blackhole, link: Link, before: Sequence[Action]) -> Iterator[Action]:
    """Ends with the loss that each direction has by then, as far as events that began before it tell."""
    end_s = event.at_s + event.for_s
    start, then = (
        [_losses(at(list(link_intervals(link, before, way)), at_s).link) for way in DIRECTIONS]
        for at_s in (event.at_s, end_s)
    )
    for way, losses in _ways(start):
        everything: Properties = {"loss": 1.0}
        if "gilbert_elliott" in losses:  # which counts instead of loss
            everything = {"gilbert_elliott": {"enter": 0.0, "leave": 1.0, "loss_good": 1.0, "loss_bad": 1.0}}
        yield _set(event.at_s, link, way, everything)
    for way, losses in _ways(then):
        yield _set(end_s, link, way, losses)


def _ways(losses: Sequence[Properties]) -> Iterator[tuple[Directions, Properties]]:
    """Both at once where both are the same."""
    if losses[0] == losses[1]:
        yield "both", losses[0]
    else:
        yield from zip(DIRECTIONS, losses, strict=True)


def _ramp(event: Ramp, link: Link) -> Iterator[Action]:
    steps = max(1, round(event.over_s / event.step_s))
    for step in range(steps + 1):
        properties = Properties()
        if event.rate is not None:
            first, last = (as_written(rate.to_bps(link["frame_bytes"])) for rate in event.rate)
            properties["rate_bps"] = as_number(_between(first, last, step, steps))
        if event.delay_ms is not None:
            properties["delay_ms"] = round(_between(*event.delay_ms, step, steps), 9)
        if event.loss is not None:
            properties["loss"] = round(_between(*event.loss, step, steps), 9)
        yield _set(event.at_s + event.over_s * step / steps, link, event.direction, properties)


def _between(first: _Number, last: _Number, step: int, steps: int) -> _Number:
    return first + (last - first) * step / steps
