"""Makes the graph of a Mininet topology whose Python text comes by stdin, with its class and options, as JSON.

Run by ``custom.py`` in a process without rights. Writes ``{"nodes": …, "links": …}``, or ``{"wrong": …, "field": …}``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from topologies.custom import TopoError, read_topo


def main() -> None:
    """Ends the process, whatever the text has left running in it."""
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
