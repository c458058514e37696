"""Mininet topologies of the user's own: read as a graph for a scenario, or given routes for ``mn --custom``."""

import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mininet.topo import Topo

from testbed.message import InvalidValue, unknown
from topologies.emulated_link import EmulatedLink
from topologies.hosts import RoutedHost
from topologies.layout import Edge, Graph, Layout, Node
from topologies.layout import Path as LayoutPath
from topologies.own_code import who_else_may_write


class TopoError(InvalidValue):
    """A file is no Mininet topology; ``field`` is the part of ``{file, class, options}`` that is wrong."""

    field = "file"


class TopoClassError(TopoError):
    """A class of the file is none."""

    field = "class"


def read_topo(file: Path, class_name: str, options: Mapping[str, Any], text: str | None = None) -> Graph:
    """Make a topology of the class in the file, or in its ``text`` where that was read before, as ``mn --custom`` does;
    raises :class:`TopoError`.

    The file is carried out as Python. For root it has to be root's own or the caller's.
    """
    topo_class = _class(file, class_name, text)
    added: list[tuple[str | None, str, str]] = []
    reported: list[Mapping[str, Any]] = []

    class Recorded(topo_class):  # type: ignore[misc, valid-type]
        # Mininet's own list of links is sorted.
        def addLink(self, node1: str, node2: str, *args: Any, **more: Any) -> Any:  # noqa: N802
            key = super().addLink(node1, node2, *args, **more)
            added.append((key if isinstance(key, str) else None, node1, node2))
            reported.append(more)
            return key

    try:
        topo = Recorded(**options)
    except (Exception, SystemExit) as error:
        raise TopoClassError(
            "topology.class-raised", f"{class_name}({_call(options)}) raised {_said(error, file)}"
        ) from error
    return Graph(tuple(topo.nodes(sort=False)), tuple(added), tuple(reported))


def topo_classes(file: Path) -> list[str]:
    """The names of a file's ``Topo`` classes of its own; raises :class:`TopoError`. It is carried out, too."""
    return _topos(_carried_out(file))


def _topos(names: Mapping[str, Any]) -> list[str]:
    return [key for key, value in names.items() if _is_topo(value) and value is not Topo]


def route(topo: Topo, *paths: Sequence[str]) -> None:
    """Gives nodes the routes of a scenario, at the end of ``build``, for ``mn --custom``.

    A path is a host and the keys of the links from there, in order. Emulated links get their numbers, hence
    addresses, in the order of ``topo.links()``. Raises :class:`ValueError` for other links, and
    :class:`~topologies.layout.Ambiguous`.
    """
    links = topo.links(withKeys=True, withInfo=True)
    edges = tuple(Edge(str(key), a, b) for a, b, key, _ in links)
    for number, (a, b, key, info) in enumerate(links, start=1):
        if info.get("cls") is not EmulatedLink:
            raise ValueError(
                f"link {key!r} between {a} and {b} is no EmulatedLink, so it has no address to route to; "
                "give addLink cls=EmulatedLink"
            )
        info.update(index=number, name=str(key))
    ends = {path[0] for path in paths}
    nodes = tuple(Node(name) for name in topo.nodes() if name not in ends)
    layout = Layout(tuple(ends), nodes, edges, tuple(LayoutPath(path[0], tuple(path[1:])) for path in paths))
    receivers = {layout.receiver(path) for path in layout.paths}
    routes = layout.routes()
    for name in topo.hosts():
        topo.nodeInfo(name).update(
            cls=RoutedHost,
            ip=None,
            routes=[known for known in routes if known["host"] == name],
            forwards=name not in ends | receivers,
        )


def _carried_out(file: Path, text: str | None = None) -> dict[str, Any]:
    """Runs the file as ``mn --custom`` does: in names of its own, which are returned."""
    if others := who_else_may_write(file):
        raise TopoError("topology.others-may-write", f"{file}: {others}")
    names: dict[str, Any] = {}
    try:
        text = file.read_text(encoding="utf-8") if text is None else text
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise TopoError(
            "topology.file-not-readable", f"{file}: {reason}; it should be a Python file with a Mininet Topo"
        ) from error
    try:
        exec(compile(text, str(file), "exec"), names)
    except SyntaxError as error:
        raise TopoError("topology.not-python", f"{file}:{error.lineno}: not Python: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise TopoError("topology.file-raised", f"{file} can't be loaded: {_said(error, file)}") from error
    return names


def _class(file: Path, name: str, text: str | None) -> type[Topo]:
    names = _carried_out(file, text)
    if name not in names:
        raise TopoClassError.of(unknown("topology.no-such-class", "Topo class", name, _topos(names)).at(f"{file}"))
    if not _is_topo(names[name]):
        raise TopoClassError(
            "topology.no-topo", f"{name!r} in {file} is no Mininet Topo; derive it from mininet.topo.Topo"
        )
    found: type[Topo] = names[name]
    return found


def _is_topo(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Topo)


def _call(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in options.items())


def _said(error: BaseException, file: Path) -> str:
    """``ValueError: no (my_topo.py:12)``: an error, and the innermost line of the file that it came through."""
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{said} ({file.name}:{lines[-1]})" if lines else said


def main() -> None:
    """Write the graph of a topology as JSON, ``{"nodes": …, "links": …}``, or ``{"wrong": …, "field": …}``.

    Its Python text comes by stdin, with its class and options. Run in a process without rights, which this ends,
    whatever the text has left running in it.
    """
    requested = json.load(sys.stdin)
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        graph = read_topo(Path(requested["file"]), requested["class"], requested["options"], requested["text"])
        said: dict[str, Any] = {"nodes": graph.nodes, "links": graph.links}
    except TopoError as error:
        said = {"wrong": str(error), "field": error.field}
    with os.fdopen(own, "w") as answer:
        json.dump(said, answer)
    os._exit(0)


if __name__ == "__main__":
    main()
