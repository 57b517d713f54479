"""Which users may impersonate others, and the groups of users."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest

from metastore.errors import ConfigurationError
from metastore.identity import AuthenticationFailedError
from metastore.security.groups import Groups
from metastore.security.passwords import LoginGuard, PasswordFile, Plain
from metastore.security.proxy_users import ProxyUsers
from metastore.settings import Settings

PEER = "10.1.2.3:4567"


def members(user: str) -> list[str]:
    return {"alice": ["analysts"], "bob": ["engineers"]}.get(user, [])


@pytest.mark.parametrize(
    ("rules", "other", "peer", "allowed"),
    [
        ("trino?users=*", "alice", PEER, True),
        ("trino?users=*", "", PEER, False),
        ("trino?users=*", "alice ", PEER, False),
        ("trino?users=*", "ａｌｉｃｅ", PEER, False),
        ("trino?users=bob,alice", "alice", PEER, True),
        ("trino?users=bob", "alice", PEER, False),
        ("trino?groups=analysts", "alice", PEER, True),
        ("trino?groups=analysts", "bob", PEER, False),
        ("trino?groups=*", "nobody", PEER, True),
        ("trino?users=*&hosts=10.0.0.0/8", "alice", PEER, True),
        ("trino?users=*&hosts=10.0.0.0/8", "alice", "192.168.0.1:1", False),
        ("trino?users=*&hosts=::1", "alice", "[::1]:1", True),
        ("hive?users=*", "alice", PEER, False),
        ("", "alice", PEER, False),
    ],
)
def test_rules(rules: str, other: str, peer: str, allowed: bool) -> None:
    assert ProxyUsers(rules, members).may_act("trino", other, peer) is allowed


@pytest.mark.parametrize("rules", ["trino", "?users=*", "trino?color=red", "trino?hosts=*", "trino?users=*&hosts=x"])
def test_invalid_rules_are_reported(rules: str) -> None:
    with pytest.raises(ConfigurationError, match="proxy_users"):
        ProxyUsers(rules, members)


def test_groups_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "groups"
    path.write_text("# who is in which\nanalysts: alice, bob\nengineers: bob\n")
    groups = Groups(Settings(group_mapping=str(path)))
    assert (groups.of("alice"), groups.of("bob"), groups.of("carol")) == (["analysts"], ["analysts", "engineers"], [])
    path.write_text("nonsense\n")
    with pytest.raises(ConfigurationError, match=":1 is not a line of a group file"):
        Groups(Settings(group_mapping=str(path)))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Groups(Settings(group_mapping=str(tmp_path / "none")))


def test_a_file_of_groups_that_becomes_invalid_yields_no_groups(tmp_path: Path) -> None:
    path = tmp_path / "groups"
    path.write_text("analysts: alice\n")
    groups = Groups(Settings(group_mapping=str(path)))
    path.unlink()
    assert groups.of("alice") == []


def test_a_password_file_broken_later_admits_no_user(tmp_path: Path) -> None:
    path = tmp_path / "users"
    file = PasswordFile(path)
    file.add("alice", "wonderland")
    path.write_text("nonsense\n")
    with pytest.raises(AuthenticationFailedError, match="cannot check passwords now"):
        Plain([file.check], LoginGuard(), encrypted=True, without_tls=False).step(b"\0alice\0wonderland").result(30)


def test_groups_of_the_system() -> None:
    groups = Groups(Settings(group_mapping="system"))
    assert len(groups.of(getpass.getuser())) == len(set(os.getgrouplist(getpass.getuser(), os.getgid())))
    assert groups.of("nobody of this name") == []


def test_no_groups() -> None:
    assert Groups(Settings()).of("alice") == []
