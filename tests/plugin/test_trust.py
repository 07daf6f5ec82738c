"""The certificate authorities of this machine, as the bundled Java reads them."""

from __future__ import annotations

import ssl
import subprocess

import pytest

from dbt_spark_dynamic.embedded.java import bundled_java
from dbt_spark_dynamic.embedded.trust import write_trust_store


def test_java_finds_every_authority_that_python_trusts(tmp_path):
    java = bundled_java()
    if java is None:
        pytest.skip("the extra `java` is not installed")
    trusted = ssl.create_default_context().get_ca_certs(binary_form=True)
    path = tmp_path / "authorities.jks"
    assert write_trust_store(path) == bool(trusted)
    arguments = ["-list", "-keystore", path, "-storepass", "changeit"]
    said = subprocess.run([java.with_name("keytool"), *arguments], capture_output=True, text=True)
    assert said.stdout.count("trustedCertEntry") == len(trusted), said.stdout


def test_without_authorities_java_keeps_its_own(tmp_path, monkeypatch):
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(ssl, "create_default_context", lambda: empty)
    assert not write_trust_store(tmp_path / "authorities.jks")
    assert list(tmp_path.iterdir()) == []
