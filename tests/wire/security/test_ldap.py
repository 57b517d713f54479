"""Users and groups of a directory: an OpenLDAP server in a temporary folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metastore.errors import ConfigurationError, InvalidOperationError, UnavailableError
from metastore.identity import PASSWORD, AuthenticationFailedError, Identity
from metastore.security import ldap
from metastore.security.authenticator import SessionChecks
from metastore.security.groups import Groups
from metastore.security.ldap import FOUND_IN_LDAP, Directory
from metastore.settings import Settings
from tests.wire.transport.conftest import eventually

from .conftest import Authority, Pem

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

dn: ou=staff,{BASE}
objectClass: organizationalUnit

dn: uid=bob,ou=staff,{BASE}
objectClass: inetOrgPerson
cn: Bob
sn: Builder
userPassword: builder

dn: cn=searcher,{BASE}
objectClass: organizationalRole
objectClass: simpleSecurityObject
userPassword: jabberwocky

dn: uid=twin,ou=people,{BASE}
objectClass: inetOrgPerson
cn: Twin
sn: Twin
userPassword: twin

dn: uid=twin,ou=staff,{BASE}
objectClass: inetOrgPerson
cn: Twin
sn: Twin
userPassword: twin

dn: cn=builders,ou=groups,{BASE}
objectClass: groupOfNames
member: uid=bob,ou=staff,{BASE}

dn: cn=all,ou=groups,{BASE}
objectClass: groupOfNames
member: cn=analysts,ou=groups,{BASE}
member: cn=builders,ou=groups,{BASE}
member: cn=all,ou=groups,{BASE}

dn: cn=posix,ou=groups,{BASE}
objectClass: posixGroup
gidNumber: 1
memberUid: alice
"""
MODULES = Path("/usr/lib/ldap")
POLICY = f"""
dn: cn=policy,{BASE}
objectClass: organizationalRole
objectClass: pwdPolicy
pwdAttribute: userPassword
pwdMustChange: TRUE
pwdLockout: TRUE

dn: uid=reset,ou=people,{BASE}
objectClass: inetOrgPerson
cn: Reset
sn: Reset
userPassword: reset
pwdReset: TRUE

dn: uid=locked,ou=people,{BASE}
objectClass: inetOrgPerson
cn: Locked
sn: Locked
userPassword: locked
pwdAccountLockedTime: 000001010000Z
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, host_pem: Pem, authority: Authority) -> Iterator[str]:
    if SLAPD is None:
        pytest.skip("no slapd: Debian's package slapd has it")
    pytest.importorskip("ldap3", reason="ldap3 is not installed: pip install '.[ldap]'")
    folder = tmp_path_factory.mktemp("ldap")
    (folder / "data").mkdir()
    schemas = [f"include {SCHEMAS}/{name}.schema" for name in ("core", "cosine", "nis", "inetorgperson")]
    modules, policy = [], []
    if MODULES.exists():
        modules = [f"modulepath {MODULES}", "moduleload back_mdb", "moduleload ppolicy"]
        policy = ["overlay ppolicy", f"ppolicy_default cn=policy,{BASE}"]
    backend = ["database mdb", f'suffix "{BASE}"', f"directory {folder}/data", "maxsize 10485760"]
    tls = [f"TLSCertificateFile {host_pem.chain}", f"TLSCertificateKeyFile {host_pem.key}"]
    tls.append(f"TLSCACertificateFile {authority.pem}")
    access = [
        "access to attrs=userPassword by anonymous auth",
        f'access to dn.subtree="ou=staff,{BASE}" by dn="cn=searcher,{BASE}" read by anonymous auth by * none',
        "access to * by * read",
    ]
    lines = [
        *schemas,
        *modules,
        "referral ldap://localhost:1",
        *tls,
        *backend,
        *policy,
        *access,
        f"pidfile {folder}/pid",
        "",
    ]
    (folder / "slapd.conf").write_text("\n".join(lines))
    tool = [SLAPD, "-T", "add", "-f", str(folder / "slapd.conf")]
    subprocess.run(tool, input=ENTRIES + (POLICY if policy else ""), text=True, check=True, capture_output=True)
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


def directory(url: str, **settings: Any) -> Directory:
    settings = {"user_dn": f"uid={{user}},ou=people,{BASE}", "group_base": f"ou=groups,{BASE}"} | settings
    return Directory(Settings(ldap_url=url, **{f"ldap_{name}": value for name, value in settings.items()}))


@pytest.fixture
def account(tmp_path: Path) -> dict[str, Any]:
    """Settings of a directory that the server searches with an account."""
    file = tmp_path / "password"
    file.write_text("jabberwocky\n")
    search = {"user_dn": "", "user_base": BASE, "user_filter": "(&(objectClass=inetOrgPerson)(uid={user}))"}
    return search | {"bind_dn": f"cn=searcher,{BASE}", "bind_password_file": file}


def test_the_directory_verifies_the_password(url: str) -> None:
    assert directory(url).check("alice", "wonderland") == Identity("alice", PASSWORD)


@pytest.mark.parametrize("user", ["Alice", "ALICE", "ａｌｉｃｅ", "ＡLICE"])
def test_each_spelling_is_the_same_user(url: str, user: str) -> None:
    assert directory(url).check(user, "wonderland") == Identity("alice", PASSWORD)
    with pytest.raises(InvalidOperationError, match="is alice in LDAP"):  # by Kerberos, for example
        directory(url).groups(user)
    groups = Groups(
        Settings(
            group_mapping="ldap",
            ldap_url=url,
            ldap_user_dn=f"uid={{user}},ou=people,{BASE}",
            ldap_group_base=f"ou=groups,{BASE}",
        )
    )
    for _ in range(2):
        with pytest.raises(InvalidOperationError, match="is alice in LDAP"):
            groups.of(user)


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("alice", "guess"),
        ("alice", ""),
        ("alice", "wonder\nland"),
        ("alice", "\u00ad"),
        ("mallory", "wonderland"),
        ("alice,ou=people", "wonderland"),
        ("*", "wonderland"),
        ("locked", "locked"),
    ],
)
def test_other_users_cannot_log_in(url: str, user: str, password: str) -> None:
    assert directory(url).check(user, password) is None


@pytest.mark.skipif(not MODULES.exists(), reason="no overlay ppolicy")
def test_a_user_must_change_a_password_that_an_administrator_has_set(url: str) -> None:
    """The bind succeeds. Only the control of the password policy tells."""
    with pytest.raises(AuthenticationFailedError, match="reset must change the password in LDAP"):
        directory(url).check("reset", "reset")


@pytest.mark.parametrize("typed", ["alicia", "alicé"])
def test_an_ldap_entry_with_another_name_is_rejected(url: str, account: dict[str, Any], typed: str) -> None:
    """A directory that finds alice under a similar name must not let her be two users."""
    similar = {"user_filter": "(|(uid={user})(sn=Liddell))"}
    assert directory(url, **account).check("Alice", "wonderland")
    assert directory(url, **account | similar).check("Alice", "wonderland")
    assert directory(url, **account | similar).check(typed, "wonderland") is None
    assert directory(url, **account | similar).groups(typed) == []


def test_groups(url: str) -> None:
    assert directory(url).groups("alice") == ["analysts", "posix"]
    assert directory(url).groups("carol") == []
    assert directory(url).groups("*)(objectClass=*") == []


def test_a_search_that_is_referred_to_another_server_is_not_complete(url: str) -> None:
    """Nothing follows the referral: the other server would get a password, perhaps without encryption."""
    with pytest.raises(UnavailableError, match="does not complete the search in ou=groups,dc=other: referral"):
        directory(url, group_base="ou=groups,dc=other").groups("alice")


def test_a_directory_that_does_not_answer_is_reported() -> None:
    with socket.socket() as silent:  # The port stays bound: a client that gets it as its own would talk to itself.
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(AuthenticationFailedError, match="does not answer"):
            directory(f"ldap://127.0.0.1:{silent.getsockname()[1]}").check("alice", "wonderland")


def test_a_directory_that_sends_rubbish_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        echo = threading.Thread(target=echo_once, args=[listener])
        echo.start()
        with pytest.raises(AuthenticationFailedError, match="does not answer"):
            directory(f"ldap://127.0.0.1:{listener.getsockname()[1]}").check("alice", "wonderland")
        echo.join()


def test_one_thread_at_a_time_asks_a_silent_directory(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldap, "_SILENCE", -1)  # each failure counts as silence
    monkeypatch.setattr(ldap, "_PATIENCE", 0.01)
    silent = directory("ldap://127.0.0.1:1")
    for _ in range(2):
        with pytest.raises(AuthenticationFailedError, match="does not answer"):
            silent.check("alice", "wonderland")
    silent._server = directory(url)._server
    with silent._turn, pytest.raises(AuthenticationFailedError, match="does not answer"):
        silent.check("alice", "wonderland")
    assert silent.check("alice", "wonderland")
    with silent._turn:
        assert silent.check("alice", "wonderland")


def echo_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(connection.recv(4096))
        connection.recv(4096)


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "http://host"},
        {"url": "ldap://host"},
        {"url": "ldaps://host", "start_tls": True},
        {"user_dn": "uid=user"},
        {"user_dn": ""},
        {"user_base": BASE},
        {"user_dn": "", "user_base": BASE, "user_filter": "(uid=alice)"},
        {"bind_dn": "cn=searcher"},
        {"bind_dn": "cn=searcher", "bind_password_file": Path("/nowhere/password")},
    ],
)
def test_unusable_settings_are_reported(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="ldap_"):
        directory(**({"url": "ldaps://host"} | settings))


def test_users_are_searched_with_an_account(url: str, account: dict[str, Any]) -> None:
    """The account finds users at any depth; anonymous searches find nothing in ou=staff."""
    actual_directory = directory(url, **account)
    assert actual_directory.check("Bob", "builder") == Identity("bob", PASSWORD)
    for user, password in (("bob", "guess"), ("mallory", "builder"), ("*", "builder"), ("searcher", "jabberwocky")):
        assert actual_directory.check(user, password) is None
    assert actual_directory.check("twin", "twin") is None  # two entries
    assert actual_directory.groups("bob") == ["builders"]
    account["bind_password_file"].write_text("wrong")
    with pytest.raises(UnavailableError, match=r"LDAP rejects the bind of cn=searcher"):
        actual_directory.groups("bob")
    with pytest.raises(AuthenticationFailedError, match="does not answer"):
        actual_directory.check("bob", "builder")


def test_nested_groups(url: str, account: dict[str, Any]) -> None:
    """`all` contains `builders` and itself."""
    assert directory(url, **account, nested_groups=True).groups("bob") == ["all", "builders"]
    assert directory(url, **account, nested_groups=True).groups("alice") == ["all", "analysts", "posix"]


@pytest.mark.filterwarnings("ignore:ssl.match_hostname")  # ldap3 checks the host's name with it
def test_start_tls(url: str, authority: Authority, strange_authority: Authority) -> None:
    host = url.replace("127.0.0.1", "localhost")
    assert directory(host, start_tls=True, ca=authority.pem).check("alice", "wonderland")
    with pytest.raises(AuthenticationFailedError, match="does not answer"):
        directory(host, start_tls=True, ca=strange_authority.pem).check("alice", "wonderland")


def test_sessions_of_a_removed_user_end(url: str, account: dict[str, Any]) -> None:
    actual_directory = directory(url, **account)
    checks = SessionChecks(in_directory=actual_directory.has)
    users = [Identity(user, PASSWORD, credential=FOUND_IN_LDAP) for user in ("bob", "gone")]
    assert checks.ended(users) == ["", "user gone was removed from LDAP"]
    identity = actual_directory.check("bob", "builder")
    assert identity is not None
    assert identity.credential == FOUND_IN_LDAP
    unreachable = SessionChecks(in_directory=directory("ldap://127.0.0.1:1", **account).has)
    assert unreachable.ended(users) == ["", ""]


def test_a_review_asks_a_directory_that_does_not_answer_once() -> None:
    asked = []

    def has(user: str) -> bool:
        asked.append(user)
        raise UnavailableError("LDAP does not answer")

    checks = SessionChecks(in_directory=has)
    users = [Identity(f"user{number}", PASSWORD, credential=FOUND_IN_LDAP) for number in range(9)]
    assert checks.ended(users) == [""] * 9
    assert asked == ["user0"]
    checks.ended(users)
    assert asked == ["user0", "user1"]


def test_a_failed_look_up_of_groups_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[int] = []
    settings = Settings(
        group_mapping="ldap",
        ldap_url="ldap://127.0.0.1:1",
        ldap_user_dn="uid={user}",
        ldap_group_base=BASE,
    )
    assert Groups(settings, lambda: failures.append(1)).of("alice") == []
    assert failures == [1]
    assert "user alice has no groups for now: LDAP does not answer" in caplog.text
