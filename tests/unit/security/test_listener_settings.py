"""Listeners, and settings that exclude each other."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any, cast

import pytest

from metastore.errors import ConfigurationError
from metastore.identity import CERTIFICATE, AuthenticationFailedError
from metastore.security.certificates import Certificates, subject
from metastore.security.listener_settings import http_tls, listeners, warnings
from metastore.settings import Settings
from metastore.transport.buffers import MessageReader
from metastore.transport.handshake import Handshake
from metastore.transport.listener import Listener
from metastore.transport.memory import Memory

PEM: dict[str, Any] = {"tls_certificate": Path("chain.pem"), "tls_client_ca": Path("ca.pem")}


def test_one_listener_by_default() -> None:
    (actual,) = listeners(Settings(port=1234))
    assert (actual.host, actual.port, actual.tls, actual.authentication) == ("127.0.0.1", 1234, "off", frozenset())


def test_several_with_settings_of_their_own() -> None:
    text = "0.0.0.0:9083 [::1]:9084?tls=off&authentication=none&proxy_protocol_from="
    outer, inner = listeners(
        Settings(
            listeners=text,
            tls="required",
            authentication="password,jwt",
            proxy_protocol_from="10.0.0.7, fd00::/8",
            **PEM,
        )
    )
    assert [str(network) for network in outer.proxies] == ["10.0.0.7/32", "fd00::/8"]
    assert inner.proxies == ()
    assert (outer.host, outer.port, outer.tls) == ("0.0.0.0", 9083, "required")
    assert outer.authentication == {"password", "jwt"}
    assert (inner.host, inner.port, inner.tls, inner.authentication) == ("::1", 9084, "off", frozenset())


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"listeners": "nonsense"}, "is not an address"),
        ({"listeners": "host:99999"}, "is not an address"),
        ({"listeners": "host:1/path"}, "is not an address"),
        ({"listeners": "host:1?color=red"}, "no setting color"),
        ({"listeners": "host:1?tls=maybe"}, "off, allowed or required"),
        (
            {"listeners": "host:1?proxy_protocol_from=10.0.0.1/8"},
            "10.0.0.1/8 has host bits set; write addresses or networks",
        ),
        ({"tls": "required"}, "needs tls_certificate"),
        ({"authentication": "magic"}, "must be none, or some of"),
        ({"authentication": "none,jwt"}, "must be none, or some of"),
        ({"authentication": "ldap"}, "LDAP checks passwords: set authentication to password, and ldap_url"),
        ({"authentication": "tls-certificate", "tls": "required", **PEM}, "tls_client_certificates=optional"),
        ({"authentication": "password"}, "allow_password_without_tls"),
        ({"tls_client_certificates": "required"}, "needs tls"),
        ({"port": 9083, "http_port": 9083}, r"127.0.0.1:9083 and 127.0.0.1:9083 use the same port: change"),
        ({"host": "0.0.0.0", "port": 9083, "http_port": 9083}, "use the same port"),
        ({"listeners": "[::1]:9083 [::]:9083"}, "use the same port"),
    ],
)
def test_contradictory_settings_are_reported(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        listeners(Settings(**settings))


@pytest.mark.parametrize(
    ("listen", "authentication", "heard"),
    [
        ("127.0.0.1:1", "none", []),
        ("localhost:1", "none", []),
        ("[::1]:1", "none", []),
        ("0.0.0.0:1", "none", ["METASTORE_AUTHENTICATION"]),
        ("host.example:1", "jwt", ["METASTORE_TLS"]),
        ("0.0.0.0:1?tls=required", "jwt", []),
    ],
)
def test_an_open_listener_without_authentication_is_warned_of(
    listen: str, authentication: str, heard: list[str]
) -> None:
    settings = Settings(listeners=listen, authentication=authentication, **PEM)
    told = list(warnings(settings, listeners(settings)))
    assert len(told) == len(heard)
    assert all(name in text for name, text in zip(heard, told, strict=True))


@pytest.mark.parametrize(
    ("settings", "heard"),
    [
        ({"http_host": "127.0.0.1", "authentication": "jwt"}, []),
        ({"http_host": "0.0.0.0", "authentication": "none"}, []),
        ({"http_host": "0.0.0.0", "authentication": "kerberos"}, []),
        ({"http_host": "0.0.0.0", "authentication": "jwt", "http_tls": "required"}, []),
        ({"http_host": "0.0.0.0", "authentication": "jwt"}, ["rejects logins"]),
        ({"http_host": "::", "authentication": "password", "allow_password_without_tls": True}, ["plain text"]),
    ],
)
def test_an_http_port_without_encryption_is_a_warning(settings: dict[str, Any], heard: list[str]) -> None:
    whole = Settings(http_port=1, **settings, **PEM)
    told = list(warnings(whole, listeners(whole)))
    assert len(told) == len(heard)
    assert all(text in warning and "METASTORE_HTTP_TLS" in warning for text, warning in zip(heard, told, strict=True))


def test_the_http_port_needs_a_certificate_for_tls() -> None:
    for wrong, text in (({"http_tls": "required"}, "needs tls_certificate"), ({"http_tls": "yes"}, "off or required")):
        with pytest.raises(ConfigurationError, match=text):
            http_tls(Settings(**wrong))


def certificate(*names: tuple[str, str]) -> dict[str, Any]:
    return {"subject": tuple(((name),) for name in names), "notAfter": "Jan  1 00:00:00 2100 GMT"}


@pytest.mark.parametrize(
    ("names", "written"),
    [
        ((("countryName", "DE"), ("commonName", "alice")), "CN=alice,C=DE"),
        ((("commonName", "a,CN=root"),), r"CN=a\,CN\=root"),
        ((("commonName", " a+b "),), r"CN=\ a\+b\ "),
    ],
)
def test_subjects_are_written_as_rfc_4514_has_them(names: tuple[tuple[str, str], ...], written: str) -> None:
    assert subject(certificate(*names)) == written


def test_a_name_that_looks_like_a_subject_belongs_to_no_user() -> None:
    rule = Certificates(Settings().tls_user_pattern)
    assert rule.identity(certificate(("commonName", "alice"), ("organizationalUnitName", "x"))).user == "alice"
    for name in ("a,CN=root", "x+CN=root", ""):
        with pytest.raises(AuthenticationFailedError):
            rule.identity(certificate(("commonName", name)))
    with pytest.raises(AuthenticationFailedError, match="expired"):
        rule.identity({**certificate(("commonName", "alice")), "notAfter": "Jan  1 00:00:00 2020 GMT"})


@pytest.mark.parametrize(
    ("names", "user"),
    [
        ("DC=corp,CN=Users,CN=Carol", "Carol"),
        ("DC=corp,O=Example,CN=Carol,OU=x", "Carol"),
        ("CN=Carol,emailAddress=c@example.com", "Carol"),
        ("CN=root,O=a\\,b,CN=Carol", "Carol"),
        ("CN=Users,UID=carol", None),
        ("DC=corp,O=Example", None),
    ],
)
def test_the_default_user_is_the_most_specific_common_name(names: str, user: str | None) -> None:
    long = {"CN": "commonName", "UID": "userId", "DC": "domainComponent", "O": "organizationName"}
    parts = [part.replace("\\,", ",").split("=") for part in re.split(r"(?<!\\),", names)]
    shown = certificate(*((long.get(name, name), value) for name, value in parts))
    certificates = Certificates(Settings().tls_user_pattern)
    if user is None:
        with pytest.raises(AuthenticationFailedError, match="METASTORE_TLS_USER_PATTERN"):
            certificates.identity(shown)
    else:
        assert certificates.identity(shown).user == user


def test_a_user_name_in_a_multi_valued_rdn_is_found() -> None:
    """O=Example+CN=Carol,CN=Users is not the user Users."""
    own = (("organizationName", "Example"), ("commonName", "Carol"))
    shown = {**certificate(("commonName", "Users")), "subject": ((("commonName", "Users"),), own)}
    assert Certificates(Settings().tls_user_pattern).identity(shown).user == "Carol"


@pytest.mark.parametrize(
    ("emails", "user"),
    [
        (["carol@example.com"], "carol"),
        (["carol@elsewhere.org", "carol@example.com"], "carol"),
        (["carol@example.com", "dave@example.com"], None),
        (["carol@example.com.evil.org"], None),
        (["carol\n@example.com"], None),
        (["car\u202eol@example.com"], None),
        ([], None),
    ],
)
def test_an_email_address_can_contain_the_user(emails: list[str], user: str | None) -> None:
    names = (("DNS", "host"), *(("email", email) for email in emails))
    shown = {**certificate(("commonName", "root")), "subjectAltName": names}
    certificates = Certificates(r"email:([^@]+)@example\.com")
    if user is None:
        with pytest.raises(AuthenticationFailedError, match="METASTORE_TLS_USER_PATTERN"):
            certificates.identity(shown)
    else:
        assert certificates.identity(shown).user == user


@pytest.mark.parametrize(
    ("type_id", "value", "user"),
    [
        ("1.3.6.1.4.1.311.20.2.3", b"\x0c\x11carol@example.com", "carol"),
        ("1.3.6.1.4.1.311.20.2.3", b"\x04\x11carol@example.com", None),  # another type
        ("1.3.6.1.4.1.311.20.2.4", b"\x0c\x11carol@example.com", None),
        (None, b"", None),
    ],
)
def test_a_user_principal_name_can_contain_the_user(type_id: str | None, value: bytes, user: str | None) -> None:
    x509 = pytest.importorskip("cryptography.x509")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    key, name = ed25519.Ed25519PrivateKey.generate(), x509.Name([])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    if type_id is not None:
        other = x509.OtherName(x509.ObjectIdentifier(type_id), value)
        names = x509.SubjectAlternativeName([x509.DNSName("host"), other])
        builder = builder.add_extension(names, critical=False)
    encoded = builder.sign(key, None).public_bytes(serialization.Encoding.DER)
    shown = {**certificate(("commonName", "root")), "DER": encoded}
    certificates = Certificates(r"upn:([^@]+)@example\.com")
    if user is None:
        with pytest.raises(AuthenticationFailedError, match="METASTORE_TLS_USER_PATTERN"):
            certificates.identity(shown)
    else:
        assert certificates.identity(shown).user == user


def test_a_certificate_that_cannot_be_decoded_is_rejected() -> None:
    """Python raises this for a user principal name that is not UTF-8."""

    class Undecodable:
        @property
        def peer_certificate(self) -> str:
            return b"\xff".decode()

    listener = Listener(authentication=frozenset({CERTIFICATE}), authenticator=cast(Any, object()))
    handshake = Handshake(cast(Any, None), MessageReader(cast(Any, None), limit=1, memory=Memory(1)), listener, "")
    handshake._tls = cast(Any, Undecodable())
    with pytest.raises(AuthenticationFailedError, match="cannot be decoded"):
        handshake._use_certificate()


@pytest.mark.parametrize("rule", ["(", "CN=.*", "(a)(b)"])
def test_a_rule_that_cannot_be_used_is_reported(rule: str) -> None:
    with pytest.raises(ConfigurationError, match="tls_user_pattern"):
        Certificates(rule)


def test_different_addresses_may_use_the_same_port() -> None:
    assert len(listeners(Settings(listeners="127.0.0.1:9083 127.0.0.2:9083", http_host="::1", http_port=9083))) == 2
    assert len(listeners(Settings(port=0, http_port=0))) == 1
