"""The launch command: its words, and the names of users that it accepts."""

from __future__ import annotations

import pwd
from types import SimpleNamespace

import pytest

from spark_client.errors import SessionError
from spark_client.gateway.launch import Launch


def known(monkeypatch: pytest.MonkeyPatch, **ids: int) -> None:
    """Makes these the accounts of the system."""
    monkeypatch.setattr(pwd, "getpwnam", lambda name: SimpleNamespace(pw_uid=ids[name]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env -u {user} --", ["env", "-u", "alice", "--"]),
        ("env --uid={user} --gid={user}", ["env", "--uid=alice", "--gid=alice"]),
        ("env 'a b;{user}' '$HOME {{}} {x}'", ["env", "a b;alice", "$HOME {{}} {x}"]),  # no shell, no other fields
    ],
)
def test_the_user_is_a_part_of_one_argument(monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]) -> None:
    known(monkeypatch, alice=1000)
    assert Launch(text).command("alice") == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "write a program with {user}"),
        ("env -u alice --", "all drivers would be one user"),
        ("{user} {user}", "write a program with {user}"),
        ("env '{user}", "No closing quotation"),
        ("no-such-program {user}", "no-such-program is not in the PATH"),
    ],
)
def test_other_commands_are_rejected_at_the_start(text: str, reason: str) -> None:
    with pytest.raises(SessionError, match=reason):
        Launch(text)


@pytest.mark.parametrize("name", ["alice", "first.last", "_a", "A-1", "of_a_container"])
def test_names_of_users(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    known(monkeypatch, alice=1000, **{"first.last": 2_000_000_000})
    assert Launch("env {user}").command(name) == ["env", name]


@pytest.mark.parametrize(
    "name",
    [
        *("", "-u", "--help", "0", "1000", "#0", "+0", "alice bob", "alice\n", "alice\0", "alice:root", "alice@host"),
        *("../alice", "al/ice", "alice$", "$(id)", "{user}", "\u00e5lice", "a" * 256, "alice=x", "%alice", "al,ice"),
    ],
)
def test_names_that_programs_could_misread(name: str) -> None:
    with pytest.raises(SessionError, match="cannot be a user of the operating system"):
        Launch("env {user}").command(name)


def test_accounts_of_the_system_are_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, root=0, postgres=999, toor=0, nobody=65534)
    for name in ("root", "postgres", "toor", "nobody"):
        with pytest.raises(SessionError, match=f"^{name} is a system account"):
            Launch("env {user}").command(name)
