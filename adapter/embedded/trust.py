"""This machine's certificate authorities in a file that Java reads.

A Java from PyPI brings a list of its own, which lacks the authority of a company's proxy. Python knows it already, for
pip came through. The format is JKS, which needs no cryptography: certificates one after another, and a digest.
"""

from __future__ import annotations

import hashlib
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

MAGIC, VERSION, TRUSTED = 0xFEEDFEED, 2, 2
# The digest guards against accidents, not against attackers: Java's own stores have the same password everywhere.
SALT = "changeit".encode("utf-16-be") + b"Mighty Aphrodite"


def write_trust_store(path: Path) -> bool:
    """Write the authorities that Python trusts; False, and no file, where Python can name none."""
    certificates = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not certificates:
        return False
    store = key_store(certificates)
    if not path.is_file() or path.read_bytes() != store:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store)
    return True


def key_store(certificates: Sequence[bytes]) -> bytes:
    """A JKS file of trusted certificates, given in DER."""
    parts = [struct.pack(">III", MAGIC, VERSION, len(certificates))]
    for position, certificate in enumerate(certificates):
        parts += [struct.pack(">I", TRUSTED), utf(f"authority-{position}"), struct.pack(">Q", 0)]
        parts += [utf("X.509"), struct.pack(">I", len(certificate)), certificate]
    content = b"".join(parts)
    return content + hashlib.sha1(SALT + content).digest()


def utf(text: str) -> bytes:
    """As Java's DataOutput.writeUTF writes ASCII."""
    return struct.pack(">H", len(text)) + text.encode("ascii")
