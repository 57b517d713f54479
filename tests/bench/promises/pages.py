"""Promises about the HTTP port, and about read-only servers."""

from __future__ import annotations

import stat

from tests.bench.promises.installation import Installation, fails, promise
from tests.wire.authorization.granting import everywhere, grant, revoke
from tests.wire.builders import partition, table
from tests.wire.console.visiting import Visitor
from thrift_idl.gen.hive_metastore.ttypes import LockComponent, LockLevel, LockRequest, LockType, UnlockRequest


@promise("/calls needs the token, which only the owner of its file can read")
def _(installation: Installation) -> None:
    assert stat.S_IMODE(installation.token.stat().st_mode) == 0o600
    token = installation.token.read_text().strip()
    for path in ("/calls/now", "/calls/slow"):
        for wrong in ({}, {"Authorization": token}, {"Authorization": f"Bearer {token}x"}):
            assert Visitor(installation.console).get(path, **wrong).status == 401
        assert Visitor(installation.console).get(path, Authorization=f"Bearer {token}").status == 200


@promise("The HTTP port answers only for its own host names (DNS rebinding)")
def _(installation: Installation) -> None:
    authorization = f"Bearer {installation.token.read_text().strip()}"
    for path in ("/calls/now", "/", "/login"):
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example"):
            assert Visitor(installation.console).get(path, Host=host, Authorization=authorization).status == 403, (
                path,
                host,
            )


@promise("Metrics and health need no login, and name no table and no user")
def _(installation: Installation) -> None:
    installation.methods("alice").get_table("secret", "vault")
    for path in ("/metrics", "/health/live", "/health/ready"):
        reply = Visitor(installation.console).get(path)
        assert reply.status == 200
        assert not [name for name in ("vault", "secret", "alice", "eve") if f'"{name}"' in reply.text]


@promise("A page of the console needs a login")
def _(installation: Installation) -> None:
    reply = Visitor(installation.console).get("/")
    assert (reply.status, reply.headers["location"]) == (303, "/login?next=/")
    assert Visitor(installation.console).get("/?format=json").status == 401
    assert "password is wrong" in Visitor(installation.console).log_in("eve", "wrong").text


@promise("A page of another site cannot log in or out")
def _(installation: Installation) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        form = {"user": "bob", "password": "bob"}
        assert Visitor(installation.console).post("/login", form, Origin=origin).status == 403


@promise("The console shows the objects that its user may see")
def _(installation: Installation) -> None:
    names = {user: _found(installation, user) for user in ("alice", "bob", "eve")}
    assert {"sales.shown", "sales.hidden", "secret.vault"} <= names["alice"]
    assert "sales.shown" in names["bob"]
    assert names["bob"].isdisjoint({"sales.hidden", "secret.vault"})
    assert names["eve"].isdisjoint({"sales.shown", "sales.hidden", "secret.vault"})
    denied = everywhere("secret.v*"), "DENY ALL", "alice"
    grant(installation.methods("sam"), *denied)
    assert _found(installation, "alice") == names["alice"] - {"secret.vault"}
    revoke(installation.methods("sam"), *denied)


@promise("A read-only server rejects every change, also an administrator's")
def _(installation: Installation) -> None:
    root = installation.login("root", "root", installation.reader)
    for call in (
        lambda: root.methods.create_table(table("sales", "late")),
        lambda: root.methods.drop_table("sales", "shown", False),
        lambda: root.methods.add_partition(partition("sales", "shown", ["8"])),
    ):
        fails(call, "read-only")
    root.close()


@promise("A read-only server answers readers with their rights, and locks for reading only")
def _(installation: Installation) -> None:
    bob = installation.login("bob", "bob", installation.reader)
    assert bob.methods.get_table("sales", "shown").tableName == "shown"
    fails(lambda: bob.methods.get_table("sales", "hidden"), "table not found")
    lock = bob.methods.lock(_lock(LockType.SHARED_READ))
    bob.methods.unlock(UnlockRequest(lock.lockid))
    fails(lambda: bob.methods.lock(_lock(LockType.EXCLUSIVE)), "read-only")
    bob.close()


def _lock(kind: int) -> LockRequest:
    return LockRequest([LockComponent(kind, LockLevel.TABLE, "sales", "shown")], None, "bob", "h")


def _found(installation: Installation, user: str) -> set[str]:
    """Returns the tables that a search of the console for their names shows to the user."""
    visitor = Visitor(installation.console)
    assert visitor.log_in(user, user).status == 303
    pages = [visitor.json(f"/?q={word}") for word in ("shown", "hidden", "vault")]
    return {f"{each['database']}.{each['table']}" for page in pages for each in page["tables"]}
