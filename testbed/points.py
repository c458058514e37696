"""Points of telemetry as line protocol, as InfluxDB reads them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Point: TypeAlias = dict[str, Any]
"""A point: its measurement, tags, fields and time in Unix nanoseconds."""

_NAME = str.maketrans({"\\": "\\\\", " ": "\\ ", ",": "\\,", "=": "\\=", "\n": "\\n"})
_TEXT = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def point(measurement: str, tags: Mapping[str, str], fields: Mapping[str, Any], time_ns: int) -> Point:
    """A point for :func:`line_protocol`."""
    return {"measurement": measurement, "tags": tags, "fields": fields, "time": time_ns}


def line_protocol(points: Iterable[Point]) -> str:
    """The points in line protocol, a line each; "" for none. Here and not by InfluxDB's client, which takes as long to
    load in a guest as all else that runs there."""
    return "".join(f"{_key(each)} {_fields(each['fields'])} {each['time']}\n" for each in points)


def _key(each: Point) -> str:
    """The measurement and the tags, by name; one without a value is left out."""
    given = sorted((name, str(text)) for name, text in each["tags"].items() if text not in ("", None))
    tags = (f",{name.translate(_NAME)}={text.translate(_NAME)}" for name, text in given)
    return str(each["measurement"]).translate(_NAME) + "".join(tags)


def _fields(fields: Mapping[str, Any]) -> str:
    given = sorted((name, value) for name, value in fields.items() if value is not None)
    return ",".join(f"{name.translate(_NAME)}={_value(value)}" for name, value in given)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value.translate(_TEXT)}"'
    if isinstance(value, bool):
        return str(value)
    return f"{value}i" if isinstance(value, int) else repr(float(value))


def append_points(spool: Path, points: Iterable[Point]) -> None:
    """Append them to a file of telemetry that is read while it grows, in one write."""
    with spool.open("ab", buffering=0) as file:
        file.write(line_protocol(points).encode())
