"""docker-compose.yml, its ``.env``, and what is said where a service can't be had."""

import re
import stat

import pytest
from ruamel.yaml import YAML

from testbed import paths
from testbed.errors import BadInput
from testbed.services import compose, grafana
from testbed.services.influx.endpoint import ROLES, Endpoint, Login
from tests.raises import Said, raises

FILE = YAML(typ="safe").load(paths.CHECKOUT / "docker-compose.yml")
ENDPOINT = Endpoint("http://127.0.0.1:8086", "any", {role: Login(role, f"secret-of-{role}") for role in ROLES})


@pytest.fixture
def written(monkeypatch, tmp_path):
    """``.env`` in a folder of the test's own, as a mapping."""
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path))
    monkeypatch.setattr(compose, "ENVIRONMENT", tmp_path / ".env")
    (tmp_path / "influxdb").mkdir()
    compose.write_environment(ENDPOINT)
    lines = (tmp_path / ".env").read_text().splitlines()
    return tmp_path, dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def test_nothing_listens_beyond_the_loopback_address():
    assert list(FILE["services"]) == ["grafana"]
    assert FILE["services"]["grafana"]["network_mode"] == "host"
    assert FILE["services"]["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"


def test_grafana_is_pinned_checked_and_keeps_its_data(monkeypatch):
    monkeypatch.delenv("GRAFANA_IMAGE", raising=False)
    service = FILE["services"]["grafana"]
    assert service["image"] == f"${{GRAFANA_IMAGE:-{compose.IMAGE}}}"
    assert re.fullmatch(r"[\w/-]+:\d+\.\d+\.\d+", compose.image())
    assert service["healthcheck"]["test"]
    assert any(volume.startswith("grafana:") for volume in service["volumes"])
    monkeypatch.setenv("GRAFANA_IMAGE", "registry.example/mine:1")
    assert compose.image() == "registry.example/mine:1"


def test_viewing_needs_no_login_and_changes_nothing():
    variables = FILE["services"]["grafana"]["environment"]
    assert variables["GF_AUTH_ANONYMOUS_ENABLED"] == "true"
    assert variables["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert variables["GF_USERS_ALLOW_SIGN_UP"] == "false"
    read_only = [v for v in FILE["services"]["grafana"]["volumes"] if not v.startswith("grafana:")]
    assert len(read_only) == 5
    assert all(volume.endswith(":ro") for volume in read_only)


def test_grafana_keeps_the_folders_of_provisioning_that_nothing_is_mounted_on():
    """Each of its own that is not there is an error in its log at every start."""
    mounted = {volume.split(":")[1] for volume in FILE["services"]["grafana"]["volumes"]}
    ours = {folder.name for folder in (paths.CHECKOUT / "dashboards" / "provisioning").iterdir()}
    assert {path for path in mounted if path.startswith("/etc/grafana")} == {
        f"/etc/grafana/provisioning/{name}" for name in ours
    }


def test_what_the_file_asks_for_is_in_the_environment(written):
    _, values = written
    text = (paths.CHECKOUT / "docker-compose.yml").read_text()
    assert set(re.findall(r"\$\{(\w+):\?", text)) <= {name for name, value in values.items() if value}
    assert set(re.findall(r"\$\{(\w+):[?-]", text)) <= set(values)


def test_the_environment_is_its_owners_only_and_never_committed(written):
    folder, values = written
    assert stat.S_IMODE((folder / ".env").stat().st_mode) == 0o600
    assert "/.env" in (paths.CHECKOUT / ".gitignore").read_text().splitlines()
    assert len(values["NCP_TESTBED_GRAFANA_PASSWORD"]) >= 32
    assert "secret-of-agent" not in (folder / ".env").read_text()  # Grafana and the set-up of users need it not


def test_grafanas_password_stays(written):
    _, values = written
    compose.write_environment(ENDPOINT)
    again = dict(line.split("=", 1) for line in compose.ENVIRONMENT.read_text().splitlines()[1:])
    assert again == values


def test_without_compose_one_line_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(compose.NoService) as raised:
        compose.command()
    Said("compose.not-installed").check(raised.value)
    assert "\n" not in raised.value.message
    assert compose.containers() == []


@pytest.mark.root
def test_an_image_that_can_not_be_had_is_one_line(monkeypatch):
    monkeypatch.setenv("GRAFANA_IMAGE", "localhost:1/no-such-registry:1.0.0")
    with pytest.raises(compose.NoService) as raised:
        compose.have_image()
    assert raised.value.code == "compose.failed"
    assert "docker pull --quiet localhost:1/no-such-registry:1.0.0" in raised.value.message
    assert "\n" not in raised.value.message


@pytest.mark.parametrize("port", ["", "0", "70000", "x"])
def test_a_bad_port_is_bad_input(monkeypatch, port):
    monkeypatch.setenv("NCP_TESTBED_GRAFANA_PORT", port)
    with raises(BadInput, "service.bad-port", variable="NCP_TESTBED_GRAFANA_PORT", port=port):
        grafana.port()
