"""A Mininet ``Topo`` with the options of its ``addLink`` for ``TCLink``: bw, delay, jitter, loss, max_queue_size."""

from __future__ import annotations

from pathlib import Path

from testbed.errors import BadInput, CannotRun
from testbed.interchange.tools.network import FoundLink, Network, bits, netem


def from_mininet(file: Path, class_name: str | None) -> Network:
    """The network that the file's class makes; the file is carried out, by the rules of topologies of one's own."""
    try:
        from topologies.custom import TopoError, read_topo, topo_classes
    except ImportError as error:
        raise CannotRun(
            "import.needs-mininet", f"{file}: a Mininet topology needs Mininet: {error}", "See ./run.sh doctor."
        ) from error
    try:
        if class_name is None:
            classes = topo_classes(file)
            if len(classes) != 1:
                known = ", ".join(classes) or "none"
                raise BadInput(
                    "import.which-class",
                    f"{file}: which class is the topology? Name it with --class; its Topo classes: {known}",
                )
            class_name = classes[0]
        graph = read_topo(file, class_name, {})
    except TopoError as error:
        raise BadInput("import.bad-topology", f"{file}: {error}") from error
    network = Network(file.stem)
    for number, ((name, a, b), options) in enumerate(zip(graph.links, graph.options, strict=True), start=1):
        reported = dict(options)
        queue, mbit = reported.pop("max_queue_size", None), reported.pop("bw", None)
        for ours in ("cls", "key", "port1", "port2"):
            reported.pop(ours, None)
        where = f"link {name or number} ({a}–{b})"
        does = netem({key: value for key, value in reported.items() if value is not None}, where, network.lost)
        does |= {"rate": bits(float(mbit) * 1e6)} if mbit else {}
        does |= {"queue": f"{{limit: {queue} packets, mode: droptail}}"} if queue else {}
        network.links.append(FoundLink(name, a, b, does))
    return network
