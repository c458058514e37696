"""`verify` of all claims: what was expected of one is what this checkout lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.judge.status import Status
from testbed.study.checks.claims import Made
from testbed.study.kinds.claims import Request, write
from testbed.study.kinds.claims_file import load
from testbed.study.verify import VerifyRequest, verify
from tests.said import places


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A claim that is not known to fail, and fails."""
    claims = load()
    name, claim = next((name, one) for name, one in claims.claims.items() if one.xfail is None and one.kind == "claim")
    folder = tmp_path / "all"
    run = folder / "runs" / claim.run / "1"
    run.mkdir(parents=True)
    check = CheckResult(name=claim.check, judge="ratio", status=Status.FAIL, reason="Two.", measured=2.0)
    trust = Trust(trusted=True)
    verdict = Verdict(
        scenario=claim.run,
        run="1",
        verdict=Status.FAIL,
        summary="",
        checks=[check],
        trust=trust,
        duration_s=1.0,
        policy="nkp24",
    )
    (run / "verdict.json").write_text(json.dumps(verdict.to_json()))
    made = {claim.run: Made(claim.run, "", Status.FAIL, folder=str(run.relative_to(folder)))}
    one = claims.model_copy(update={"claims": {name: claim}})
    write(one, Request(engine="sim", only=(name,)), folder, made, complete=True)
    (folder / "study.json").write_text(json.dumps({"schema": 1, "kind": "claims", "identity": {}}))
    return folder


def again(folder: Path) -> list[str]:
    return places(verify(VerifyRequest(folder, folder.parent / "again", rerun=False, same_code=True)).differences)


def test_an_honest_failure_is_confirmed(failed: Path) -> None:
    assert again(failed) == []


def test_an_expected_failure_that_is_written_into_it_is_seen(failed: Path) -> None:
    path = failed / "claims.json"
    document = json.loads(path.read_text())
    (entry,) = document["claims"]
    assert entry["verdict"] == "fail"
    listed = {"claim": entry["id"], "cause": "Mine.", "strict": True, "measured": {"measured": [1.0, 3.0]}}
    entry |= {"xfail": listed, "outcome": "xfail", "as_known": True}
    path.write_text(json.dumps(document))
    assert any(place.endswith(".xfail") for place in again(failed))


@pytest.mark.parametrize("same_code", [True, False])
def test_what_a_result_says_can_t_be_decided_is_what_this_checkout_lists_if_it_made_it(
    failed: Path, same_code: bool
) -> None:
    for path, key in ((failed / "claims.json", "claims"), (next(failed.rglob("verdict.json")), "checks")):
        document = json.loads(path.read_text())
        document[key][0] |= {"verdict" if key == "claims" else "status": "inconclusive"}
        document[key][0] |= {"undecidable": "Mine."} if key == "claims" else {}
        path.write_text(json.dumps(document))
    into = failed.parent / "again"
    found = verify(VerifyRequest(failed, into, rerun=False, same_code=same_code))
    assert any(place.endswith(".undecidable") for place in places(found.differences)) is same_code
    (entry,) = json.loads((into / "claims.json").read_text())["claims"]
    assert entry["undecidable"] == ("" if same_code else "Mine.")


@pytest.mark.parametrize("same_code", [True, False])
def test_a_single_run_lies_where_this_checkouts_reference_says_if_it_made_it(failed: Path, same_code: bool) -> None:
    path = failed / "claims.json"
    document = json.loads(path.read_text())
    document["claims"][0] |= {"as_reference": False}
    path.write_text(json.dumps(document))
    into = failed.parent / "again"
    found = verify(VerifyRequest(failed, into, rerun=False, same_code=same_code))
    assert any(place.endswith(".as_reference") for place in places(found.differences)) is same_code
    (entry,) = json.loads((into / "claims.json").read_text())["claims"]
    assert entry["as_reference"] is (None if same_code else False)
