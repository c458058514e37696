"""The cluster's file: written for its owner alone, read back the same, and what is wrong with it is named."""

import json
from pathlib import Path

import pytest

from testbed.errors import BadInput, CannotRun
from testbed.study.hosts import cluster as clusters
from tests.raises import raises


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path))
    return tmp_path


def document() -> dict[str, object]:
    return {
        "schema": 2,
        "commit": "c0ffee",
        "scheduler": "tls://10.0.0.1:8786",
        "ca": "/x/ca.pem",
        "cert": "/x/cert.pem",
        "key": "/x/key.pem",
        "hosts": [
            {
                "name": "one",
                "address": "10.0.0.1",
                "ssh": {"port": 22, "user": "root", "key": None},
                "cores": 2,
                "can": {"containers": False, "processes": True, "vkernel": True, "sim": True},
                "why_not": {"containers": "missing: docker engine"},
            }
        ],
    }


def test_a_cluster_is_read_as_it_was_written() -> None:
    cluster = clusters.Cluster.model_validate(document())
    clusters.write(cluster)
    assert clusters.read() == cluster
    assert json.loads(clusters.file().read_text()) == document()
    assert clusters.file().stat().st_mode & 0o777 == 0o600


def test_where_there_is_none_it_says_how_to_make_one() -> None:
    with raises(CannotRun, "cluster.none") as raised:
        clusters.read()
    assert "cluster up" in raised.value.hint


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("scheduler", "tcp://10.0.0.1:8786", "scheduler: 'tcp:"),
        ("hosts", [], "hosts: "),
        ("schema", 1, "schema: 1"),
        ("hots", 1, "hots: 1"),
    ],
)
def test_what_is_wrong_is_named(state: Path, key: str, value: object, named: str) -> None:
    clusters.write(clusters.Cluster.model_validate(document()))
    clusters.file().write_text(json.dumps({**document(), key: value}))
    with pytest.raises(BadInput, match=named):
        clusters.read()
