"""The code of sessions and links itself, in virtual time: without root, Docker, Mininet or packets."""

from testbed.engines.engine import Engine, Options, Programs
from testbed.engines.sim.run import SOURCES, SimulatedRun, run_id
from testbed.errors import CannotRun
from testbed.machine.need import Need
from testbed.plan.codes import others
from testbed.plan.model import Plan, Session, packet_checks
from testbed.plan.traffic_types import TRAFFIC, sent_by
from testbed.scenario.load import LoadedScenario
from topologies.impairments import keys_that

LOSSY = keys_that()
"""Properties of a link by which it loses packets, changes them or their order."""


class Simulator(Engine):
    """Runs each in one process, always to the same bytes."""

    name = "sim"
    carried_by = ("virtual", "model")
    run_of = SimulatedRun
    agent = "ncp-sim"
    programs = ("ncp-sim",)
    sources = SOURCES

    def needs(self, runtime: str = "docker") -> frozenset[Need]:
        return frozenset({Need.PYTHON, Need.BUILD})

    def deterministic(self) -> bool:
        return True

    def supports(self, scenario: LoadedScenario) -> bool:
        """Whether it is NCP alone."""
        return not TRAFFIC[scenario.scenario.traffic].of_a_kernel and not scenario.scenario.cross_traffic

    def refuse_options(self, options: Options) -> None:
        super().refuse_options(options)
        if options.runtime is not None:
            raise CannotRun(
                "sim.runtime-given",
                f"--runtime {options.runtime}: in virtual time agents are neither containers nor processes",
            )
        if options.link != "auto":
            raise CannotRun(
                "sim.link-given",
                f"--link {options.link}: in virtual time links are the model itself",
                "Leave --link out.",
            )

    def name_run(self, plan: Plan, programs: Programs) -> None:
        """Name a run by its plan and the sources."""
        plan["run"] = run_id(plan, programs.code)
        plan["namespace"] = "ncp-sim"

    def unsupported(self, plan: Plan) -> list[str]:
        """The parts that only a real kernel has; none of them is left out silently."""
        found = [
            f"cross_traffic.{flow['number']}: {flow['tool']} needs a kernel's TCP, which the simulator doesn't have"
            for flow in plan["cross_traffic"]
        ]
        sent = sent_by(plan)
        if sent.of_a_kernel:
            return [*found, f"{sent.name}: it needs a kernel's {sent.of_a_kernel}, which the simulator doesn't have"]
        if others(plan):
            found.append("ncp.code: the simulator runs our own code alone")
        captured = [f"--pcap {link}" for link in plan.get("traces", {}).get("pcap", ())[:1]]
        captured += [f"checks.{name}" for name in packet_checks(plan)]
        for session in (session for session in plan["sessions"] if session["transport"] == "tcp"):
            name = session["name"]
            found += [f"{what}: session {name} is over TCP, whose segments the simulator has not" for what in captured]
            if why := _tcp_repairs(plan, session):
                found.append(
                    f"sessions.{name}: transport tcp needs a kernel's TCP where {why}; "
                    "the simulator carries it over links that keep every packet and its place"
                )
        return found

    def describe(self, plan: Plan, options: Options) -> list[str]:
        return ["in virtual time"]


def _tcp_repairs(plan: Plan, session: Session) -> str | None:
    """An event on the session's path that TCP's own rules would answer; None if there is none."""
    links = {link["name"]: link for link in plan["links"]}
    crossed = {name for connection in session["connections"] for name in connection["path"]}
    for name in sorted(crossed):
        link = links[name]
        if link["queue"]["mode"] != "backpressure" or any(len(c["path"]) > 1 for c in session["connections"]):
            return f"link {name} has a queue that drops"
        if found := [key for key in LOSSY if link.get(key)]:
            return f"link {name} has {found[0]}"
    for action in plan["timeline"]:
        if action["kind"] == "pause_read" or action["link"] not in crossed:
            continue
        if action["kind"] == "carrier" or set(action["properties"]) & set(LOSSY):
            return f"the timeline has “{action['text']}”"
    return None


ENGINE = Simulator()
