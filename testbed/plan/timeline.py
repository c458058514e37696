"""A scenario's timeline as the plan has it: single actions at times, in order.

An action is ``{"at_s", "kind", "text", …}``: ``set`` (link, direction, properties named as in ``link/model``),
``carrier`` (link, up) or ``pause_read`` (connection, for_s). What lasts or repeats (blackhole, flap, ramp) is
unfolded into them here, so that whoever carries them out needs no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from testbed.plan.links import LinkPlan
from testbed.scenario.timeline import Blackhole, Carrier, Flap, PauseRead, Ramp, SetLink, TimelineEvent
from testbed.units import Rate

Action = dict[str, Any]


class NoSuchTarget(ValueError):
    """An event names a link or connection that there is none of."""


def unfold(
    timeline: Sequence[TimelineEvent],
    links: Sequence[LinkPlan],
    *,
    hops: Mapping[str, Sequence[LinkPlan]] | None = None,
    connections: int | None = None,
) -> list[Action]:
    """All actions in time order; raises :class:`NoSuchTarget`.

    ``hops`` are the links that a link consists of, where it is a path of several. ``connections`` is how many
    the first session has; without it one per link.
    """
    connections = len(links) if connections is None else connections
    by_name = {link.name: link for link in links}
    losses = {link.name: _losses(link) for link in links}  # as they are when a blackhole ends
    actions: list[Action] = []
    for number, event in sorted(enumerate(timeline, start=1), key=lambda item: item[1].at_s):
        where = f"timeline.{number} ({event.do})"
        link = None
        if not isinstance(event, PauseRead):
            if event.link not in by_name:
                raise NoSuchTarget(f"{where}.link: there is no link {event.link!r}; links: {', '.join(by_name)}")
            link = by_name[event.link]
        elif event.connection > connections:
            raise NoSuchTarget(
                f"{where}.connection: there is no connection {event.connection}; there are 1 to {connections}"
            )
        for action in _actions(event, link, losses):
            actions += _over_hops(action, (hops or {}).get(action.get("link", ""), ()))
    # A sort that keeps the file's order at equal times.
    return sorted(actions, key=lambda action: float(action["at_s"]))


def _actions(event: TimelineEvent, link: LinkPlan | None, losses: dict[str, dict[str, Any]]) -> Iterable[Action]:
    if isinstance(event, PauseRead):
        text = f"reader of connection {event.connection} paused for {event.for_s:g} s"
        return [_at(event.at_s, "pause_read", text, connection=event.connection, for_s=event.for_s)]
    assert link is not None
    match event:
        case SetLink():
            properties = _properties(event, link)
            losses[link.name] |= {k: v for k, v in properties.items() if k in ("loss", "gilbert_elliott")}
            return [_set(event.at_s, link, event.direction, properties)]
        case Carrier():
            return [_carrier(event.at_s, link, up=event.do == "up")]
        case Flap():
            return _flap(event, link)
        case Blackhole():
            return _blackhole(event, link, dict(losses[link.name]))
        case Ramp():
            return _ramp(event, link)


def _over_hops(action: Action, hops: Sequence[LinkPlan]) -> Iterator[Action]:
    """What an action on a path is on each of its links: the rate is every hop's, the delay is shared evenly,
    impairments and the plug are the first hop's."""
    if not hops:
        yield action
    elif action["kind"] == "carrier":
        yield _carrier(action["at_s"], hops[0], up=action["up"])
    else:
        for number, hop in enumerate(hops):
            own = {
                name: value / len(hops) if name == "delay_ms" else value
                for name, value in action["properties"].items()
                if number == 0 or name in ("rate_bps", "delay_ms")
            }
            if own:
                yield _set(action["at_s"], hop, action["direction"], own)


def _losses(link: LinkPlan) -> dict[str, Any]:
    bursts = link.impairments.gilbert_elliott
    return {"gilbert_elliott": bursts} if bursts else {"loss": link.loss}


def _at(at_s: float, kind: str, text: str, **more: Any) -> Action:
    # Rounded to the microsecond: a ramp's steps are sums of decimal fractions.
    return {"at_s": round(at_s, 6), "kind": kind, "text": text, **more}


def _set(at_s: float, link: LinkPlan, direction: str, properties: Mapping[str, Any]) -> Action:
    what = ", ".join(f"{name} {_short(value)}" for name, value in properties.items() if name != "burst_bytes")
    way = "" if direction == "both" else f" {direction}"
    return _at(
        at_s, "set", f"link {link.name}{way}: {what}", link=link.name, direction=direction, properties=dict(properties)
    )


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def _carrier(at_s: float, link: LinkPlan, *, up: bool) -> Action:
    return _at(at_s, "carrier", f"link {link.name} {'up' if up else 'down'}", link=link.name, up=up)


def _properties(event: SetLink, link: LinkPlan) -> dict[str, Any]:
    asked: dict[str, Any] = {
        name: getattr(event, name)
        for name in ("delay_ms", "jitter_ms", "loss", "reorder", "duplicate", "corrupt")
        if getattr(event, name) is not None
    }
    if event.rate is not None:
        asked["rate_bps"] = _bps(event.rate, link)
    if event.burst_loss is not None:
        asked["gilbert_elliott"] = event.burst_loss.model_dump()
    return asked


def _bps(rate: Rate, link: LinkPlan) -> int:
    return round(rate.to_bps(link.frame_bytes))


def _flap(event: Flap, link: LinkPlan) -> Iterator[Action]:
    for turn in range(event.times):
        start_s = event.at_s + turn * (event.down_s + event.up_s)
        yield _carrier(start_s, link, up=False)
        yield _carrier(start_s + event.down_s, link, up=True)


def _blackhole(event: Blackhole, link: LinkPlan, losses: Mapping[str, Any]) -> Iterator[Action]:
    everything: dict[str, Any] = {"loss": 1.0}
    if "gilbert_elliott" in losses:  # which counts instead of loss
        everything = {"gilbert_elliott": {"enter": 0.0, "leave": 1.0, "loss_good": 1.0, "loss_bad": 1.0}}
    yield _set(event.at_s, link, "both", everything)
    yield _set(event.at_s + event.for_s, link, "both", losses)


def _ramp(event: Ramp, link: LinkPlan) -> Iterator[Action]:
    if event.rate is not None:
        name, first, last = "rate_bps", *(float(_bps(rate, link)) for rate in event.rate)
    elif event.delay_ms is not None:
        name, first, last = "delay_ms", *event.delay_ms
    else:
        assert event.loss is not None
        name, first, last = "loss", *event.loss
    steps = max(1, round(event.over_s / event.step_s))
    for step in range(steps + 1):
        value = first + (last - first) * step / steps
        shown: float | int = round(value) if name == "rate_bps" else round(value, 9)
        yield _set(event.at_s + event.over_s * step / steps, link, event.direction, {name: shown})
