"""The password file: concurrent changes, and changes after a process died during one."""

from __future__ import annotations

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metastore.errors import InvalidInputError, NotFoundError
from metastore.security import passwords
from metastore.security.passwords import PasswordFile, matches


def test_all_users_that_are_added_concurrently_exist(tmp_path: Path) -> None:
    path = tmp_path / "users"
    names = [f"user{number}" for number in range(8)]
    with ThreadPoolExecutor(len(names)) as threads:  # each thread has read the file before it hashes
        assert all(threads.map(lambda name: PasswordFile(path).add(name, name), names))
    actual_users = PasswordFile(path).users()
    assert sorted(actual_users) == names
    assert all(matches(actual_users[name], name) for name in names)
    assert [each.name for each in tmp_path.iterdir()] == ["users"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_half_written_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "users"
    file = PasswordFile(path)
    file.add("alice", "wonderland")
    path.chmod(0o640)
    (tmp_path / ".users.new").write_text("half of a line that is longer than what is written now" * 20)
    file.add("bob", "builder")
    assert sorted(PasswordFile(path).users()) == ["alice", "bob"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(NotFoundError, match="user carol does not exist"):
        file.remove("carol")
    assert [each.name for each in tmp_path.iterdir()] == ["users"]


def test_few_passwords_are_checked_concurrently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any client can request a hash, and each one takes 16 MiB."""
    running, most, counting = 0, 0, threading.Lock()
    full = threading.Barrier(passwords._MAX_CONCURRENT)

    def matches(_stored: str, _password: str) -> bool:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
        full.wait(60)
        with counting:
            running -= 1
        return False

    file = PasswordFile(tmp_path / "users")
    monkeypatch.setattr(passwords, "matches", matches)
    many = 3 * passwords._MAX_CONCURRENT
    with ThreadPoolExecutor(many) as threads:
        assert list(threads.map(lambda _: file.check("alice", "guess"), range(many))) == [None] * many
    assert most == passwords._MAX_CONCURRENT


@pytest.mark.parametrize(
    "name", ["", " bob", "#bob", "bob:x", "bob\u2028x", "bob\x0bx", "bob\x1b[2J", "bob\u200b", "ｂob"]
)
def test_a_name_that_the_file_cannot_hold_is_rejected(tmp_path: Path, name: str) -> None:
    file = PasswordFile(tmp_path / "users")
    with pytest.raises(InvalidInputError, match="a name without colons"):
        file.add(name, "password")


def test_a_password_that_is_no_text_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="The password is not valid UTF-8"):
        PasswordFile(tmp_path / "users").add("bob", b"\xff".decode(errors="surrogateescape"))
    assert not (tmp_path / "users").exists()
