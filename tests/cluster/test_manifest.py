"""A sweep as a Job of Kubernetes: by Kubernetes' own schema; its parts, each made by a process, are the whole."""

from __future__ import annotations

import json
import shlex
import subprocess
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from ruamel.yaml import YAML

from testbed import paths
from testbed.cli import where
from testbed.errors import BadInput
from testbed.study.executors import part_of
from testbed.study.hosts import kubernetes
from testbed.study.kinds import sweep as sweep_run
from testbed.study.kinds.sweep_file import load
from tests.cluster.conftest import Place
from tests.raises import raises

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "job-batch-v1.json").read_text())
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def manifest(option: str, **asked: Any) -> str:
    usual = {"parts": 8, "cores": 1, "memory": "1Gi", "claim": "ncp-testbed", "image": kubernetes.IMAGE}
    return kubernetes.manifest("window-rtt", [option], COMMIT, **{**usual, **asked})


def job(**asked: Any) -> dict[str, Any]:
    document: dict[str, Any] = YAML(typ="safe").load(manifest("--quick", **asked))
    return document


def of_the_pod(document: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = document["spec"]["template"]["spec"]
    return spec


def test_kubernetes_would_take_it() -> None:
    jsonschema.validate(job(parts=12, cores=4, memory="512Mi", claim="results"), SCHEMA)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.update(kind="CronJob"),
        lambda document: document["spec"].update(completionMode="Random", completion=3),
        lambda document: document["spec"].update(completions="8"),
        lambda document: of_the_pod(document).pop("containers"),
        lambda document: of_the_pod(document)["containers"][0].pop("name"),
        lambda document: of_the_pod(document)["volumes"][0].update(claimName="results"),
    ],
)
def test_the_schema_refuses_what_is_wrong(spoil: Any) -> None:
    document = job()
    spoil(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_as_many_indexes_as_parts_which_begin_again_by_themselves() -> None:
    spec = job(parts=12)["spec"]
    assert (spec["completions"], spec["completionMode"], spec["backoffLimitPerIndex"]) == (12, "Indexed", 3)
    assert of_the_pod(job())["restartPolicy"] == "Never"
    command = of_the_pod(job(parts=12, cores=4))["containers"][0]["command"]
    assert command[-1].endswith("exec ./run.sh sweep window-rtt --quick --cluster=part:of=12,cores=4")
    assert subprocess.run(["bash", "-n", "-c", command[-1]], check=False).returncode == 0


@pytest.mark.parametrize(
    "asked", [{"claim": "Results"}, {"claim": "a b"}, {"memory": "2 GB"}, {"memory": "0"}, {"image": "a: b"}]
)
def test_what_kubernetes_would_refuse_is_named(asked: dict[str, str]) -> None:
    [(name, value)] = asked.items()
    with raises(BadInput, "cluster.bad-manifest-value", name=name, value=value):
        job(**asked)


def test_what_a_shell_would_take_for_more_stays_an_option() -> None:
    text = manifest("--set=title='a # b: $HOME'")
    command = of_the_pod(YAML(typ="safe").load(text))["containers"][0]["command"][-1].splitlines()[-1]
    assert shlex.split(command)[3:5] == ["window-rtt", "--set=title='a # b: $HOME'"]
    with raises(BadInput, "cluster.several-lines"):
        manifest("--set=title=a\nb")


def test_the_verb_prints_it(place: Place) -> None:
    process = place.start("there", "cluster", "manifest", "window-rtt", "--parts", "3", "--set", "seeds=2")
    said, _ = process.communicate(timeout=60)
    if process.returncode == 4:
        assert "has uncommitted changes" in said  # a developer's checkout
        return
    assert process.returncode == 0, said
    assert "&id" not in said  # who reads it need not look for what is meant elsewhere
    document = YAML(typ="safe").load(said)
    jsonschema.validate(document, SCHEMA)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=paths.CHECKOUT, capture_output=True, text=True, check=True
    )
    assert f"git checkout --quiet --detach {commit.stdout.strip()}" in said
    assert "./run.sh sweep window-rtt --set=seeds=2 --cluster=part:of=3,cores=1" in said


def test_a_part_is_of_the_runs_name_alone() -> None:
    names = [f"sim-{number:012x}" for number in range(600)]
    sizes = [sum(part_of(name, 3) == part for name in names) for part in range(3)]
    assert sum(sizes) == 600
    assert min(sizes) > 150
    assert part_of("sim-0", 3) == part_of("sim-0", 3)


def sweep(place: Place, monkeypatch: pytest.MonkeyPatch, results: str, cluster: str = "") -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(place.path / results))
    with where.runs_made(cluster, parts=True):
        sweep_run.run(load(str(place.sweep(seconds=1, seeds=1))))


def test_parts_put_together_are_the_bytes_of_one_machine(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sweep(place, monkeypatch, "here")
    lists = []
    for index in (0, 1, 2, 2):  # one that begins again makes nothing twice
        monkeypatch.setenv(where.INDEX, str(index))
        with pytest.raises(typer.Exit) as ended:
            sweep(place, monkeypatch, f"part-{index}", "part:of=3,cores=2")
        assert ended.value.exit_code == 0
        lists.append(place.made(f"part-{index}"))
        assert not (place.path / f"part-{index}" / "tiny" / "latest").exists()
    assert lists[2] == lists.pop()
    assert sorted(chain(*lists)) == sorted(place.made("here"))
    said = capfd.readouterr()
    assert f"part 0 of 3: {len(lists[0])} runs made" in said.out
    assert "stopped" not in said.err

    together = place.path / "there" / "tiny" / "runs.jsonl"
    together.parent.mkdir(parents=True)
    together.write_bytes(b"".join(path.read_bytes() for path in sorted(place.path.glob("part-*/tiny/runs.jsonl"))))
    sweep(place, monkeypatch, "there")
    assert "6 of 6 runs are finished already" in capfd.readouterr().err
    assert place.told("there") == place.told("here")


@pytest.mark.parametrize(
    ("value", "index"),
    [
        ("part:of=3,cores=1", ""),
        ("part:of=3,cores=1", "3"),
        ("part:of=3,cores=1", "-1"),
        ("part:of=3,cores=1", "one"),
        ("part:of=0,cores=1", "0"),
        ("part:of=3", "0"),
        ("part", "0"),
    ],
)
def test_a_part_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch, value: str, index: str) -> None:
    monkeypatch.setenv(where.INDEX, index)
    with pytest.raises(BadInput, match=where.INDEX), where.runs_made(value, parts=True):
        pass


def test_only_a_sweep_is_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(where.INDEX, "0")
    with raises(BadInput, "cluster.bad-target"), where.runs_made("part:of=3,cores=1"):
        pass
