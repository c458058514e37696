"""Signed bundles: by whom, by an unknown key, by nobody; and a signature that is not of this bundle."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from testbed.archive import signature
from testbed.archive.pack import pack
from testbed.archive.signature import MANIFEST, SIGNATURE
from testbed.archive.verify import unpacked, verify_bundle
from testbed.cli.app import main
from testbed.errors import BadInput
from testbed.study.verify import Verification
from tests.bundle import made
from tests.raises import raises
from tests.said import Saying, codes

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH's ssh-keygen")


def key(place: Path, name: str) -> Path:
    file = place / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(file)], check=True)
    return file


def signers(place: Path, **keys: Path) -> Path:
    file = place / "signers"
    lines = [f"{name}@example.org {path.with_suffix('.pub').read_text().strip()}\n" for name, path in keys.items()]
    file.write_text("".join(lines))
    return file


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """What a bundle needs for its signature."""
    (tmp_path / MANIFEST).write_text(f"{'0' * 64}  telemetry.lp\n")
    return tmp_path


def signed(place: Path, by: Path) -> None:
    (place / SIGNATURE).write_bytes(signature.sign((place / MANIFEST).read_bytes(), by))


def checked(place: Path, file: Path | None) -> Verification:
    verified = Verification("bundle", "")
    signature.check(place, verified, file)
    return verified


def test_the_signer_is_named(place: Path) -> None:
    alice, bob = key(place, "alice"), key(place, "bob")
    signed(place, bob)
    found = checked(place, signers(place, alice=alice, bob=bob))
    assert found.differences == []
    (said,) = found.notes
    assert said == Saying("signature.by", by="bob@example.org", key="SHA256:")


def test_a_key_that_nobody_vouches_for_is_unknown(place: Path) -> None:
    alice, bob = key(place, "alice"), key(place, "bob")
    signed(place, bob)
    unknown, not_allowed = checked(place, None).notes, checked(place, signers(place, alice=alice)).differences
    assert codes(unknown) == codes(not_allowed) == ["signature.unknown-key"]
    assert "SHA256:" in str(unknown[0])


def test_unsigned_is_told_and_not_enough_where_signers_are_asked_for(place: Path) -> None:
    assert [*checked(place, None).notes] == [Saying("signature.none")]
    assert [*checked(place, signers(place, alice=key(place, "alice"))).differences] == [Saying("signature.none")]


@pytest.mark.parametrize("known", [False, True])
def test_a_signature_of_something_else_is_wrong(place: Path, known: bool) -> None:
    alice = key(place, "alice")
    signed(place, alice)
    (place / MANIFEST).write_text(f"{'1' * 64}  telemetry.lp\n")
    found = checked(place, signers(place, alice=alice) if known else None)
    assert codes(found.differences) == ["signature.not-of-this-bundle"]


def test_a_signature_for_another_purpose_is_wrong(place: Path) -> None:
    """What the key signed as a file or a commit is no bundle."""
    alice = key(place, "alice")
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-f", str(alice), "-n", "file", str(place / MANIFEST)], check=True
    )
    found = checked(place, signers(place, alice=alice))
    assert codes(found.differences) == ["signature.not-of-this-bundle"]


def test_a_signed_bundle_that_was_forged_is_not_confirmed(tmp_path: Path) -> None:
    alice = key(tmp_path, "alice")
    folder = made.emulated(tmp_path)
    honest, forged = tmp_path / "honest.zip", tmp_path / "forged.zip"
    pack([folder], honest, alice)
    with unpacked(honest) as there:
        found = verify_bundle(there, signers=signers(tmp_path, alice=alice))
    assert [verified.differences for verified in found] == [[], []]
    (folder / "links.csv").write_text((folder / "links.csv").read_text().replace("fast,ab", "fast,ba"))
    pack([folder], forged)
    with zipfile.ZipFile(honest) as archive, zipfile.ZipFile(forged, "a") as other:
        other.writestr(SIGNATURE, archive.read(SIGNATURE))
    with unpacked(forged) as there:
        bundle = verify_bundle(there)[0]
    assert codes(bundle.differences)[0] == "signature.not-of-this-bundle"


def test_a_key_that_is_none_is_named(tmp_path: Path) -> None:
    with raises(BadInput, "signature.no-key"):
        signature.sign(b"", tmp_path / "none")
    (tmp_path / "text").write_text("no key")
    with raises(BadInput, "signature.signing-failed"):
        signature.sign(b"", tmp_path / "text")


def test_a_folder_is_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["run.sh", "verify", str(tmp_path), "--signers", str(tmp_path / "s")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "only bundles are signed" in capsys.readouterr().err
