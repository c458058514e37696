"""A topology whose links are resolved, and how a scenario's link becomes one of a layout's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from testbed.errors import BadInput
from testbed.scenario.links import Link
from topologies.layout import Edge, Layout, Path
from topologies.link import Link as LinkPlan
from topologies.link import resolve_link
from topologies.units import MOST_QUEUED_PACKETS


@dataclass(frozen=True)
class Topology:
    """A layout with its links resolved, in the order of their indices."""

    layout: Layout
    links: list[LinkPlan]
    named: list[LinkPlan]
    """The links as the scenario names and describes them: what its timeline acts on."""
    hops: Mapping[str, Sequence[LinkPlan]]
    """The links that a named one consists of, where it is not a link itself."""
    sessions: list[list[Path]]
    """The paths of each session's connections."""
    cross_traffic: list[Path] = field(default_factory=list)
    """The paths of what else is sent."""

    def connections_over(self, link: str) -> int:
        """The number of the sessions' connections over a link."""
        return sum(link in path.edges for paths in self.sessions for path in paths)


@dataclass(frozen=True)
class Resolver:
    """Resolves links of the scenario in ``file``."""

    file: FilePath
    seed: int
    frame_bytes: int

    def link(self, link: Link, place: int, edge: Edge) -> LinkPlan:
        """The configuration of a link, between the ends of an edge."""
        planned = resolve_link(
            place,
            edge.name,
            edge.a,
            edge.b,
            link.rate,
            delay_ms=link.delay_ms,
            loss=link.loss,
            queue=link.queue.limit,
            queue_mode=link.queue.mode,
            frame_bytes=self.frame_bytes,
            seed=self.seed,
            impairments=link.impairments(self.file.parent),
            least_burst_bytes=link.burst_bytes or 0,
        )
        if planned["queue"]["packets"] > MOST_QUEUED_PACKETS:
            raise BadInput(
                "link.queue-too-long",
                f"{self.file}: links.{link.name}.queue: at this rate and delay it holds {planned['queue']['packets']} "
                f"packets; {MOST_QUEUED_PACKETS} at most",
                field=f"links.{link.name}.queue",
            )
        return planned

    def links(self, links: Sequence[Link], edges: Sequence[Edge]) -> list[LinkPlan]:
        return [
            self.link(link, place, edge) for place, (link, edge) in enumerate(zip(links, edges, strict=True), start=1)
        ]

    def queued_in_the_middle(self, link: Link) -> Link:
        """A link from a router: drop-tail by default."""
        if link.queue.mode != "backpressure":
            return link
        if "mode" in link.queue.model_fields_set:
            raise BadInput(
                "link.backpressure-at-router",
                f"{self.file}: links.{link.name}.queue.mode: 'backpressure' is a sender's own queue, and a router "
                "can't hold back the senders; use droptail, drophead or codel",
            )
        return link.model_copy(update={"queue": link.queue.model_copy(update={"mode": "droptail"})})
