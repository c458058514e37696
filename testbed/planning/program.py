"""The plan's parts that only a program of the user's own has: what is started, and its sessions."""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from testbed import confine
from testbed.documents import digest
from testbed.errors import BadInput, CannotRun
from testbed.machine.check import missing
from testbed.machine.need import Need
from testbed.paths import CHECKOUT
from testbed.plan import model
from testbed.plan.codes import CODES, files_of, is_kept, others
from testbed.plan.model import Plan, Policy, Session
from testbed.planning.resolved import Topology
from testbed.planning.sessions import FIRST_PORT, connections_of, session_over
from testbed.scenario.program import Program
from testbed.scenario.sessions import Session as Entry

MTU_BYTES = 1500
FULL_FRAME_BYTES = 14 + MTU_BYTES
"""Size of a full frame of Ethernet without FCS."""
PAYLOAD_BYTES = {"udp": MTU_BYTES - 20 - 8, "tcp": MTU_BYTES - 20 - 32}
"""Payload of a full frame, with TCP's timestamps; a program's own headers are part of it."""
START_UP_S = 2.0
"""Time of both ends before the first byte, about."""
PEERS = CHECKOUT / ".build" / "peers"
"""Folder of other people's transports; those that are not built yet are no mistake of the user's."""
UNPACKED = CHECKOUT / ".build" / "program-images"
"""Folders with the files of images, by the images' ids."""
NOT_BUILT = ""
"""Stand-in for a digest."""


def section_of(requested: Program, file: Path) -> model.Program:
    """The program of both ends, as the scenario ``file`` has it. Raises :class:`BadInput` for a folder that can't be
    the program's, or a command that is not in it."""
    confine.program(f"{file}: program")
    if requested.image is not None:
        return _of_image(requested, requested.image, str(file))
    assert requested.command is not None
    where = f"{file}: program.folder"
    folder = (file.parent / requested.folder).resolve()
    awaited = not folder.is_dir() and PEERS in folder.parents
    if not folder.is_dir() and not awaited:
        raise BadInput(
            "program.no-folder", f"{where}: there is no folder {folder}; it is relative to the scenario's file"
        )
    if not awaited and folder.stat().st_mode & 0o5 != 0o5:
        raise BadInput(
            "program.folder-not-readable", f"{where}: the program's user can't read {folder}; try chmod o+rx {folder}"
        )
    first = requested.command[0]
    if not awaited and "/" in first and not (folder / first).is_file():
        raise BadInput("program.no-command", f"{file}: program.command: there is no {first!r} in {folder}")
    return {
        "name": name_of(requested),
        "command": requested.command,
        "folder": str(folder),
        "sha256": NOT_BUILT if awaited else digest(folder, where),
        "environment": requested.environment,
    }


def _of_image(requested: Program, image: str, where: str) -> model.Program:
    """An image in a program's place, by what the Docker engine says of it. Raises :class:`BadInput` for one that the
    engine has not, and :class:`CannotRun` where no engine answers."""
    import docker
    from docker.errors import DockerException, ImageNotFound

    try:
        with closing(docker.from_env()) as client:
            attributes = client.images.get(image).attrs
    except ImageNotFound as error:
        raise BadInput(
            "program.no-image", f"{where}: program.image: there is no image {image!r} here; docker pull or build it"
        ) from error
    except DockerException as error:
        raise CannotRun(
            "program.no-docker", f"{where}: program.image: no Docker engine answers ({error})", "See ./run.sh doctor."
        ) from error
    config, identity = attributes["Config"], str(attributes["Id"]).removeprefix("sha256:")
    command = [*(config.get("Entrypoint") or []), *(config.get("Cmd") or [])]
    if not command:
        raise BadInput(
            "program.no-entry-point",
            f"{where}: program.image: {image!r} has no entry point; that is the program that is started",
        )
    own = dict(variable.split("=", 1) for variable in config.get("Env") or [])
    return {
        "name": name_of(requested),
        "environment": own | requested.environment,
        "image": image,
        "command": command,
        "folder": str(UNPACKED / identity),
        "sha256": identity,
        "working_folder": config.get("WorkingDir") or "/",
    }


def not_built(plan: Plan) -> str:
    """Instructions to build a plan's program or codes; "" where they are there."""
    codes = others(plan)
    lacking = missing(frozenset({Need.PEERS})) if any(files_of(code)[0] for code in codes) else []
    found = [f"{one.name}: {one.detail} ({one.fix})" for one in lacking if codes & {*CODES} or one.name == "node"]
    own = sorted(code for code in codes - {*CODES} if not is_kept(code))
    found += [f"{code} is not kept here; any --code PATH of that build keeps it" for code in own]
    if found:
        return "; ".join(found)
    section = plan.get("program")
    if section is None or section["sha256"] != NOT_BUILT:
        return ""
    folder = Path(section["folder"])
    return (
        f"{folder.name} is not built: there is no {folder}; see docs/program.md, or try .venv/bin/ansible-playbook "
        f"playbooks/peers.yml --tags {folder.name}"
    )


def name_of(program: Program) -> str:
    """The name that distinguishes a program's runs, as the window policy does NCP's: ``python3 stripes.py`` is
    ``stripes``."""
    if program.name:
        return program.name
    if program.image is not None:
        own = program.image.rsplit("/", 1)[-1].split(":")[0].split("@")[0]
    else:
        words = [word for word in program.command or () if not word.startswith("-")]
        own = Path(words[1] if len(words) > 1 and "." in words[1] else words[0]).stem
    return re.sub(r"[^a-z0-9]+", "-", own.lower()).strip("-")[:32] or "program"


def sessions_of(requested: Program, entries: Sequence[Entry], topology: Topology, seed: int) -> list[Session]:
    """A session for each that shares the network; each with a payload and ports of its own."""
    port, found = FIRST_PORT, []
    policy: Policy = {"name": name_of(requested), "rule": "the program's own"}
    for place, (entry, paths) in enumerate(zip(entries, topology.sessions, strict=True)):
        connections = connections_of(topology, paths, port)
        session = session_over(topology, entry, paths, policy, requested.transport, connections)
        session["segment_bytes"] = PAYLOAD_BYTES[requested.transport]
        session["payload_seed"] = (seed + place) % 2**63
        if requested.transport == "tcp":
            session["congestion_control"] = requested.congestion_control
        if requested.transfer_bytes is not None:
            session["transfer_bytes"] = requested.transfer_bytes
        else:
            session["send_s"] = requested.for_s or 0.0
        port += len(paths)
        found.append(session)
    for session in found:
        session["expected_s"] = round(_expected_s(session, found, topology), 3)
        session["in_words"] = _in_words(session)
    return found


def _expected_s(session: Session, sessions: list[Session], topology: Topology) -> float:
    """Duration at full rate, if all sessions share the links of this one."""
    if "send_s" in session:
        return session["start_s"] + session["send_s"] + START_UP_S
    names = {connection["link"] for connection in session["connections"]}
    rate_bps = sum(link["rate_bps"] for link in topology.links if link["name"] in names)
    on_wire = FULL_FRAME_BYTES / PAYLOAD_BYTES[session["transport"]]
    sent_bytes = sum(other.get("transfer_bytes", 0) for other in sessions) * on_wire
    return session["start_s"] + (sent_bytes * 8 / rate_bps if rate_bps else 0.0) + START_UP_S


def _in_words(session: Session) -> str:
    links = len(session["connections"])
    what = f"for {session['send_s']:g} s" if "send_s" in session else f"{session['transfer_bytes']:,} bytes"
    over = "one link" if links == 1 else f"{links} links"
    return (
        f"{session['sender_host']} sends {what} to {session['receiver_host']} by the program {session['policy']}, over "
        f"{over} ({session['transport'].upper()})."
    )
