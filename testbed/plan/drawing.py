"""A plan's network as a drawing for terminals: hosts, routers, and what each link between them carries."""

from collections.abc import Iterator, Sequence

from testbed.plan.link_words import delay, impairments, rate
from testbed.plan.model import Plan
from testbed.plan.place import ends_of
from topologies.link import Link


def drawing(plan: Plan) -> list[str]:
    """The network as trees from the sending hosts, a line for each node; links between the same two nodes share it.
    Branches end at hosts and at nodes that are drawn already. Within 80 columns, if names are short."""
    drawn = {host["name"] for host in plan["hosts"]}
    left = list(plan["links"])
    lines: list[str] = []
    starts = [session["sender_host"] for session in plan["sessions"]]
    ends = [link["a"]["host"] for link in plan["links"]]
    for start in dict.fromkeys([*starts, *ends]):
        if any(start in ends_of(link) for link in left):
            lines += [start, *_branches(start, left, drawn)]
    return lines


def _branches(node: str, left: list[Link], drawn: set[str]) -> Iterator[str]:
    """The lines below a node, by the links of it that are left."""
    drawn.add(node)
    mine = [link for link in left if node in ends_of(link)]
    neighbours = list(dict.fromkeys(_other(link, node) for link in mine))
    for link in mine:
        left.remove(link)
    for number, neighbour in enumerate(neighbours):
        last = number == len(neighbours) - 1
        between = [link for link in mine if _other(link, node) == neighbour]
        yield from _bundle(between, neighbour, last=last)
        if neighbour not in drawn:
            for line in _branches(neighbour, left, drawn):
                yield ("     " if last else "│    ") + line


def _bundle(links: Sequence[Link], neighbour: str, *, last: bool) -> Iterator[str]:
    """Links to one neighbour, which is named at the first."""
    texts = _columns(links)
    for number, text in enumerate(texts):
        first, final = number == 0, number == len(texts) - 1
        stem = ("└─" if last else "├─") if first else ("  " if last else "│ ")
        open_, close = ("─", "─") if len(texts) == 1 else ("┬", "┬") if first else ("└", "┘") if final else ("├", "┤")
        yield f"{stem}{open_}─ {text} ─{close}" + (f"─ {neighbour}" if first else "")


def _columns(links: Sequence[Link]) -> list[str]:
    """A text for each link, one below the other alike."""
    rows = [[link["name"], *_words(link)] for link in links]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width)
        .rstrip()
        .ljust(sum(width + 2 for width in widths if width) - 2)
        for row in rows
    ]


def _words(link: Link) -> list[str]:
    """Rate, one-way delay, what else it does and queue, each short; "" for what does nothing."""
    queue = link["queue"]
    mode = "" if queue["mode"] == "backpressure" else f" {queue['mode']}"
    return [rate(link, "pps"), delay(link), ", ".join(impairments(link)), f"queue {queue['packets']}{mode}"]


def _other(link: Link, node: str) -> str:
    a, b = ends_of(link)
    return b if node == a else a
