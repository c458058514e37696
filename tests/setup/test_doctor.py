"""The list of requirements: every entry can be probed and fixed; what is missing is named."""

import gc
import importlib.metadata
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from ruamel.yaml import YAML
from typer.testing import CliRunner

from testbed import engines, paths
from testbed.cli.machine import doctor
from testbed.errors import CannotRun
from testbed.exit_codes import Exit
from testbed.machine import check, guest_kernel, kernel, machine, packages, provisioning
from testbed.machine.finding import Finding, Probed
from testbed.machine.need import Need
from tests.raises import Containing, raises


class Told:
    """Collects what set-up tells."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: dict[str, SimpleNamespace] = {}

    def say(self, text: str) -> None:
        self.lines.append(text)

    @contextmanager
    def step(self, name: str) -> Iterator[SimpleNamespace]:
        self.steps[name] = SimpleNamespace(note="")
        yield self.steps[name]


def test_every_tag_is_one_of_the_playbook() -> None:
    (play,) = YAML(typ="safe").load(paths.CHECKOUT / "playbooks" / "provision.yml")
    of_playbook = {tag for task in play["tasks"] for tag in task["tags"]}
    assert {r.tag for r in check.REQUIREMENTS if r.tag} == of_playbook


def test_names_are_unique_and_all_that_is_required_says_why_and_how_to_get_it() -> None:
    names = [r.name for r in check.REQUIREMENTS]
    assert len(names) == len(set(names))
    for requirement in check.REQUIREMENTS:
        if requirement.level == "required":
            assert requirement.why
            assert requirement.name in check.BY_HAND or requirement.tag


def test_every_probe_answers_with_a_detail() -> None:
    findings = check.probe_all()
    assert [f.name for f in findings] == [r.name for r in check.REQUIREMENTS]
    assert all(f.detail for f in findings)
    assert not [f for f in findings if "the probe failed" in f.detail]
    assert all(f.ok or f.fix or f.level == "fact" for f in findings)


def test_a_probe_that_breaks_down_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Probed:
        raise OSError("out of order")

    monkeypatch.setitem(check.BY_HAND, "x", "mend it")
    finding = check.Requirement("x", "y", broken, Need.PYTHON).check()
    assert not finding.ok
    assert "OSError: out of order" in finding.detail
    assert finding.fix == "mend it"


def test_only_runs_need_root_links_and_containers() -> None:
    assert check.needs("list") == {Need.PYTHON}
    assert Need.EMULATION not in engines.named("sim").needs()
    assert Need.CONTAINERS in engines.named("mininet").needs("docker")
    assert Need.CONTAINERS not in engines.named("mininet").needs("process")
    assert check.needs("test") == set(Need) - {Need.GUEST, Need.SITE}


def test_missing_programs_are_named_with_their_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    lacking = {f.name: f for f in check.missing(engines.named("mininet").needs())}
    assert {"iperf3", "ethtool", "tc", "ip", "nsenter", "socat", "mininet", "htb"} <= set(lacking)
    assert "system" in lacking["iperf3"].fix
    assert lacking["iperf3"].detail == "not in PATH"
    assert check.missing(check.needs("list")) == []


def test_without_leave_to_set_up_everything_missing_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("NCP_TESTBED_NO_SETUP", "1")
    told = Told()
    with pytest.raises(CannotRun) as raised:
        provisioning.make_ready(told, engines.named("mininet").needs())
    assert raised.value.exit_code == Exit.CANNOT_RUN
    for name in ("iperf3", "ethtool", "socat"):
        assert f"  {name}: not in PATH" in raised.value.message
    assert told.steps == {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_docker_engine_that_does_not_answer_is_told_from_a_missing_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    silent = machine.docker_engine()
    assert not silent.ok
    assert silent.detail.startswith("installed but does not answer")
    gc.collect()  # the client forgets to close the socket that could not connect


def test_control_groups_in_words() -> None:
    both = {"MemoryLimit": True, "PidsLimit": True}
    assert machine.control_groups({"CgroupVersion": "1", **both}) == "cgroup v1, limits of memory and tasks"
    assert machine.control_groups({"CgroupVersion": "2", **both}) == "cgroup v2, limits of memory and tasks"
    none = machine.control_groups({"CgroupVersion": "2", "MemoryLimit": False, "PidsLimit": False})
    assert none == "cgroup v2, without a limit of agents' memory and tasks"
    assert machine.control_groups({"CgroupVersion": "1", **both, "MemoryLimit": False}).endswith("agents' memory")


@pytest.mark.root
def test_a_machine_without_docker_is_told() -> None:
    # In a mount namespace of its own the engine's socket is hidden; without PATH, so is its program.
    hidden = 'mount --bind /dev/null /run/docker.sock; PATH=/nonexistent exec "$0" -c "$1"'
    asked = "from testbed.machine import machine; print(*machine.docker_engine()[:2])"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hidden, sys.executable, asked],
        cwd=paths.CHECKOUT,
        env={k: v for k, v in os.environ.items() if k != "DOCKER_HOST"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "False not installed", done.stderr


def test_a_package_in_another_version_than_pinned_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "pytest==0.0.1\n"
        "no-such-package-here==1.0 ; sys_platform == 'linux'\n"
        f"psutil=={importlib.metadata.version('psutil')}\n"
        "old-python-only==1.0 ; python_full_version < '3'\n"
    )
    monkeypatch.setattr(packages, "export", lambda *_groups: lines)
    found = machine.pinned("some")()
    assert not found.ok
    assert re.fullmatch(r"pytest==0\.0\.1 \(\S+\), no-such-package-here==1\.0 \(not installed\)", found.detail)


@pytest.mark.parametrize(
    ("packaged", "ok", "detail"),
    [
        (True, False, "As root: apt-get install flex"),
        (False, True, "not to be had here, tests that need it are skipped"),
    ],
)
def test_tests_want_the_guest_kernel_where_the_distribution_has_its_source(
    monkeypatch: pytest.MonkeyPatch, packaged: bool, ok: bool, detail: str
) -> None:
    monkeypatch.setattr(guest_kernel, "built", lambda: None)
    monkeypatch.setattr(guest_kernel, "why_not_buildable", lambda: "As root: apt-get install flex")
    monkeypatch.setattr(guest_kernel, "source_is_packaged", lambda: packaged)
    assert guest_kernel.probe_for_tests()[:2] == (ok, detail)


def test_a_kernel_that_was_to_be_built_and_can_not_be_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_kernel, "built", lambda: None)
    monkeypatch.setattr(guest_kernel, "why_not_buildable", lambda: "As root: apt-get install flex")
    monkeypatch.setattr("testbed.machine.build.build_programs", dict)
    monkeypatch.setattr("testbed.machine.provisioning.make_ready", lambda *_, **__: None)
    monkeypatch.setattr("testbed.machine.check.probe_all", list)
    application = typer.Typer()
    application.callback()(lambda: None)
    application.command()(doctor)
    done = CliRunner().invoke(application, ["doctor", "--build"])
    assert done.exit_code == Exit.CANNOT_RUN
    assert done.stderr == ("The guest kernel with virtual time was not built. As root: apt-get install flex\n")
    assert CliRunner().invoke(application, ["doctor"]).exit_code == Exit.PASS


def test_a_held_influxdb_port_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", str(other.getsockname()[1]))
        found = machine.influxdb()
    assert not found.ok
    assert "is held by" in found.detail


def test_a_feature_is_found_by_using_it_in_a_namespace_of_its_own() -> None:
    assert kernel.can("ip link set lo up").ok
    refused = kernel.can("tc qdisc add dev lo root no-such-qdisc")
    assert not refused.ok
    assert "kind is unknown" in refused.detail
    assert kernel.can(kernel.VETH).ok
    assert "probe0" in kernel.VETH
    assert not Path("/sys/class/net/probe0").exists()


def test_kernel_facts_are_json_and_name_the_congestion_control_in_force() -> None:
    facts = kernel.kernel_facts()
    assert json.loads(json.dumps(facts)) == facts
    in_force = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    assert facts["congestion_control"] == facts["sysctls"]["net.ipv4.tcp_congestion_control"] == in_force


PLAYBOOK = """\
- name: Try
  hosts: localhost
  gather_facts: false
  tasks:
    - name: A step that works
      ansible.builtin.command: "true"
      tags: [chosen]
    - name: A step of another tag
      ansible.builtin.command: "true"
      tags: [other]
    - name: A step that fails
      ansible.builtin.command: sh -c "echo the disk is full >&2; exit 3"
      tags: [chosen]
    - name: A step after it
      ansible.builtin.command: "true"
      tags: [chosen]
"""


@pytest.fixture
def setup_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    log = tmp_path / "build" / "setup.log"
    monkeypatch.setattr("testbed.machine.provisioning.LOG", log)
    return log


def test_a_failing_task_is_named_with_its_message_and_the_log(tmp_path: Path, setup_log: Path) -> None:
    playbook = tmp_path / "try.yml"
    playbook.write_text(PLAYBOOK)
    told = Told()
    with pytest.raises(CannotRun) as raised:
        provisioning.setup(told, ["chosen"], str(playbook))
    assert "A step that fails" in raised.value.message
    assert "the disk is full" in raised.value.message
    assert list(told.steps) == ["A step that works", "A step that fails"]
    assert told.steps["A step that works"].note == "done"
    assert str(setup_log) in raised.value.hint
    assert "the disk is full" in setup_log.read_text()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("WARNING: Retrying: Temporary failure in name resolution\nERROR: No matching distribution", "registry"),
        ("error: Request failed\n  Caused by: invalid peer certificate: UnknownIssuer", "registry"),
        ("E: Failed to fetch http://deb.debian.org  Could not connect: Connection refused", "registry"),
        ("ERROR: [Errno 28] No space left on device", "no space left"),
        ("the disk is on fire", "on fire"),
    ],
)
def test_the_usual_causes_of_a_failed_task_are_told_in_one_line(said: str, told: str) -> None:
    line = f"fatal: [localhost]: FAILED! => {json.dumps({'stderr': said})}"
    (cause,) = provisioning._error(line)
    assert cause.host == "localhost"
    assert told in cause.said
    assert "\n" not in str(cause)


def test_of_several_hosts_each_is_told_by_name(tmp_path: Path, setup_log: Path) -> None:
    playbook = tmp_path / "try.yml"
    playbook.write_text(
        """
- hosts: all
  gather_facts: false
  tasks:
    - name: Fails on one
      ansible.builtin.command: "{{ what }}"
"""
    )
    hosts = {name: {"ansible_connection": "local", "what": what} for name, what in (("a", "true"), ("b", "false"))}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    told = Told()
    played = provisioning.play(told, str(playbook), ["-i", str(tmp_path / "hosts.json")])
    assert played.code != 0
    assert played.hosts == {"a": provisioning.Recap(1, 0, 0), "b": provisioning.Recap(0, 0, 1)}
    assert {failure.host for failure in played.errors if failure.host} == {"b"}
    assert told.steps["Fails on one"].note == "failed"


@pytest.mark.parametrize("all_or_none", [True, False])
def test_a_host_that_fails_ends_it_for_all_only_if_asked(tmp_path: Path, setup_log: Path, all_or_none: bool) -> None:
    playbook = tmp_path / "try.yml"
    command = "ansible.builtin.command: '{{ what }}'"
    playbook.write_text(f"- hosts: all\n  gather_facts: false\n  tasks:\n    - {command}\n    - {command}\n")
    hosts = {name: {"ansible_connection": "local", "what": what} for name, what in (("a", "true"), ("b", "false"))}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    arguments = ["-i", str(tmp_path / "hosts.json")]
    played = provisioning.play(Told(), str(playbook), arguments, all_or_none=all_or_none)
    assert played.hosts["a"].changed == (1 if all_or_none else 2)
    assert played.hosts["b"].failed == 1


def test_a_playbook_with_a_mistake_is_told(tmp_path: Path, setup_log: Path) -> None:
    playbook = tmp_path / "try.yml"
    playbook.write_text("- hosts: localhost\n  tasks: [\n")
    with raises(CannotRun, "setup.task-failed", reason=Containing("YAML")):
        provisioning.setup(Told(), [], str(playbook))


def test_each_fix_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {}
    for need in (Need.TOOLS, Need.PEERS, Need.GUEST, Need.TESTS):
        requirement = check.Requirement("x", "y", lambda: Probed(False, "no"), need, tag="system")
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert not requirement.check().fix.startswith("sudo")
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        told[need] = requirement.check().fix
    assert told == {
        Need.TOOLS: "sudo ./run.sh doctor --fix (playbook tag system)",
        Need.PEERS: "sudo ./run.sh interop (playbook tag system)",
        Need.GUEST: "sudo ./run.sh doctor --build (playbook tag system)",
        Need.TESTS: "sudo ./run.sh test (playbook tag system)",
    }


def test_what_an_engine_lacks_is_what_its_runs_need() -> None:
    def finding(name: str, *, ok: bool = False) -> Finding:
        return Finding(name, ok, "", "", "required")

    found = [finding("root"), finding("guest kernel"), finding("go", ok=True), finding("test tools")]
    lacks = {e.name: [f.name for f in check.lacking(found, e.needs())] for e in engines.every()}
    assert lacks == {"mininet": ["root"], "sim": [], "vkernel": ["guest kernel"]}


def test_without_root_only_what_goes_into_the_checkout_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def finding(tag: str | None) -> Finding:
        return Finding("x", False, "", "", "required", tag=tag)

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda _program: None)  # no sudo
    assert provisioning.installable([finding("go"), finding("python")])
    assert not provisioning.installable([finding("go"), finding("system")])
    assert not provisioning.installable([finding(None)])


def test_a_folder_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "some" / "results"))
    assert machine.folders().ok
    (tmp_path / "some").touch()
    refused = machine.folders()
    assert not refused.ok
    assert f"{tmp_path}/some is no folder" in refused.detail


def test_python_is_the_one_that_the_lock_was_installed_for() -> None:
    assert Path(sys.prefix).name == ".venv"
    assert machine.pinned("testbed", "setup")().ok
