"""Passwords and groups of a directory: OpenLDAP's server, in a folder of the test's own."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metastore.errors import ConfigurationError
from metastore.identity import PASSWORD, AuthenticationFailedError, Identity
from metastore.security.ldap import Directory, canonical_name
from tests.wire.transport.conftest import eventually

SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/libexec:/usr/lib/openldap")
SCHEMAS = Path("/etc/ldap/schema") if Path("/etc/ldap/schema").exists() else Path("/etc/openldap/schema")
BASE = "dc=example"
ENTRIES = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Example

dn: ou=people,{BASE}
objectClass: organizationalUnit

dn: ou=groups,{BASE}
objectClass: organizationalUnit

dn: uid=alice,ou=people,{BASE}
objectClass: inetOrgPerson
cn: Alice
sn: Liddell
userPassword: wonderland

dn: cn=analysts,ou=groups,{BASE}
objectClass: groupOfNames
member: uid=alice,ou=people,{BASE}

dn: cn=posix,ou=groups,{BASE}
objectClass: posixGroup
gidNumber: 1
memberUid: alice
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if SLAPD is None:
        pytest.skip("no slapd: Debian's package slapd has it")
    pytest.importorskip("ldap3", reason="ldap3 is not installed: pip install '.[ldap]'")
    folder = tmp_path_factory.mktemp("ldap")
    (folder / "data").mkdir()
    schemas = [f"include {SCHEMAS}/{name}.schema" for name in ("core", "cosine", "nis", "inetorgperson")]
    modules = ["modulepath /usr/lib/ldap", "moduleload back_mdb"] if Path("/usr/lib/ldap").exists() else []
    backend = ["database mdb", f'suffix "{BASE}"', f"directory {folder}/data", "maxsize 10485760"]
    (folder / "slapd.conf").write_text("\n".join([*schemas, *modules, *backend, f"pidfile {folder}/pid", ""]))
    tool = [SLAPD, "-T", "add", "-f", str(folder / "slapd.conf")]
    subprocess.run(tool, input=ENTRIES, text=True, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [SLAPD, "-f", str(folder / "slapd.conf"), "-h", f"ldap://127.0.0.1:{port}", "-d", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            assert eventually(lambda: answers(port))
            yield f"ldap://127.0.0.1:{port}"
        finally:
            process.terminate()


def answers(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def directory(url: str) -> Directory:
    return Directory(
        url,
        f"uid={{user}},ou=people,{BASE}",
        authorities=None,
        group_base=f"ou=groups,{BASE}",
        group_filter="(|(memberUid={user})(member={dn}))",
    )


def test_the_directory_knows_the_password(url: str) -> None:
    assert directory(url).check("alice", "wonderland") == Identity("alice", PASSWORD)


@pytest.mark.parametrize("user", ["Alice", "ALICE", "ａｌｉｃｅ", "ＡLICE"])
def test_each_spelling_is_the_same_user(url: str, user: str) -> None:
    assert directory(url).check(user, "wonderland") == Identity("alice", PASSWORD)
    assert directory(url).groups(user) == ["analysts", "posix"]


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("Alice", "alice"),
        ("ａｌｉｃｅ", "alice"),
        ("John Smith", "john smith"),
        ("Straße", "straße"),
        (" alice", None),
        ("alice ", None),
        ("alice\u00a0", None),
        ("john  smith", None),
        ("ali\u00adce", None),
        ("ali\u200dce", None),
        ("alice\n", None),
        ("", None),
    ],
)
def test_canonical_names(user: str, name: str | None) -> None:
    assert canonical_name(user) == name


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("alice", "guess"),
        ("alice", ""),
        ("mallory", "wonderland"),
        ("alice,ou=people", "wonderland"),
        ("*", "wonderland"),
    ],
)
def test_nobody_else_comes_in(url: str, user: str, password: str) -> None:
    assert directory(url).check(user, password) is None


def test_groups(url: str) -> None:
    assert directory(url).groups("alice") == ["analysts", "posix"]
    assert directory(url).groups("bob") == []
    assert directory(url).groups("*)(objectClass=*") == []


def test_a_directory_that_does_not_answer_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(AuthenticationFailedError, match="does not answer"):
        directory(f"ldap://127.0.0.1:{port}").check("alice", "wonderland")


@pytest.mark.parametrize(
    ("url", "user_dn"), [("http://host", "uid={user}"), ("ldap://host", "uid={user}"), ("ldaps://host", "uid=user")]
)
def test_what_cannot_be_used_is_told(url: str, user_dn: str) -> None:
    with pytest.raises(ConfigurationError, match="ldap_"):
        Directory(url, user_dn, authorities=None, group_base="", group_filter="")
