"""A bundle's signature: OpenSSH's, over the list of checksums, so over every file in it."""

import re
import shutil
import subprocess
from pathlib import Path

from testbed.errors import BadInput, CannotRun
from testbed.study.verify import Verification

MANIFEST = "manifest-sha256.txt"
SIGNATURE = f"{MANIFEST}.sig"
NAMESPACE = "ncp-testbed"
"""Namespace of signatures: one that the key made for something else is refused."""
KEY = re.compile(r"SHA256:\S+")


def sign(manifest: bytes, key: Path) -> bytes:
    """The signature (armoured text) by a private key, or by the key of an agent whose public part it is.

    Raises BadInput where the key can't sign, CannotRun without OpenSSH.
    """
    if not key.is_file():
        raise BadInput("signature.no-key", f"--sign {key}: there is no such key", "ssh-keygen -t ed25519 makes one.")
    done = _ssh_keygen("sign", "-f", key, "-n", NAMESPACE, given=manifest)
    if done.returncode:
        raise BadInput("signature.signing-failed", f"--sign {key}: signing failed: {_last(done)}")
    return done.stdout


def check(place: Path, bundle: Verification, signers: Path | None) -> None:
    """Verify the signature of a bundle, in ``bundle``. With ``signers`` (OpenSSH's file of allowed signers) it has to
    be by one of them. Raises BadInput where there is no such file, CannotRun without OpenSSH."""
    if signers is not None and not signers.is_file():
        raise BadInput(
            "signature.no-signers", f"--signers {signers}: there is none", "See ALLOWED SIGNERS in ssh-keygen(1)."
        )
    findings = bundle.notes if signers is None else bundle.differences
    signature, manifest = place / SIGNATURE, (place / MANIFEST).read_bytes()
    if not signature.is_file():
        findings.add_message("signature.none", "unsigned")
        return
    known = _ssh_keygen("check-novalidate", "-n", NAMESPACE, "-s", signature, given=manifest)
    if known.returncode:
        bundle.differences.add_message(
            "signature.not-of-this-bundle", f"{SIGNATURE}: is not a signature of this bundle: {_last(known)}"
        )
        return
    found = KEY.search(known.stdout.decode(errors="replace"))
    key = found[0] if found else "a key without fingerprint"
    by = _signer(signature, manifest, signers) if signers is not None else None
    if by is None:
        findings.add_message("signature.unknown-key", f"signed by an unknown key ({key})")
    else:
        bundle.notes.add_message("signature.by", f"signed by {by} ({key})")


def _signer(signature: Path, manifest: bytes, signers: Path) -> str | None:
    """The allowed signer of it; None if none."""
    said = _ssh_keygen("find-principals", "-s", signature, "-f", signers)
    for name in said.stdout.decode(errors="replace").splitlines() if said.returncode == 0 else ():
        done = _ssh_keygen("verify", "-f", signers, "-I", name, "-n", NAMESPACE, "-s", signature, given=manifest)
        if done.returncode == 0:
            return name
    return None


def _ssh_keygen(what: str, *arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise CannotRun("signature.no-ssh-keygen", "signatures need ssh-keygen", "apt-get install openssh-client")
    return subprocess.run([program, "-Y", what, *arguments], input=given, capture_output=True, check=False)


def _last(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"ssh-keygen ended with {done.returncode}"
