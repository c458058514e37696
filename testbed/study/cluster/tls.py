"""Who may speak to whom: whoever has a certificate of the cluster's own authority, over TLS alone."""

from __future__ import annotations

from pathlib import Path

from distributed.security import Security


def security(ca: Path, cert: Path, key: Path) -> Security:
    """One certificate for all parts: the authority is the cluster's, so each is sure of the others."""
    files = {
        f"tls_{role}_{what}": str(path)
        for role in ("client", "worker", "scheduler")
        for what, path in (("cert", cert), ("key", key))
    }
    return Security(require_encryption=True, tls_ca_file=str(ca), **files)
