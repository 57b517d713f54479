"""The cache of compiled classes, and the cases without one."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from spark_client.jvm import class_cache

CLASSES = {"a/B.class": b"\xca\xfe", "a/B$C.class": b""}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/spark_client"


def test_cached_classes_are_found_by_name(cache: Path) -> None:
    assert class_cache.find("core-1") is None
    for _ in range(2):  # making the same class twice succeeds
        class_cache.keep("core-1", CLASSES)
    assert class_cache.find("core-2") is None
    actual = class_cache.find("core-1")
    assert actual is not None
    with zipfile.ZipFile(actual) as jar:
        assert {name: jar.read(name) for name in jar.namelist()} == CLASSES
    assert [each.name for each in cache.iterdir()] == ["core-1.jar"]
    assert cache.stat().st_mode & 0o777 == 0o700


def test_the_least_recently_used_entry_is_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_cache, "_MAX_JARS", 2)
    for age, name in enumerate(("left", "used", "older", "newer")):
        class_cache.keep(name, CLASSES)
        os.utime(cache / f"{name}.jar", (60 * age, 60 * age))
        class_cache.find("used")
    assert sorted(each.stem for each in cache.iterdir()) == ["newer", "used"]


def test_a_directory_into_which_others_may_write_is_not_used(cache: Path) -> None:
    class_cache.keep("core-1", CLASSES)
    cache.chmod(0o770)
    assert class_cache.find("core-1") is None
    class_cache.keep("core-2", CLASSES)
    assert [each.name for each in cache.iterdir()] == ["core-1.jar"]


def test_nothing_is_cached_without_a_directory(cache: Path) -> None:
    cache.parent.write_text("a file")
    class_cache.keep("core-1", CLASSES)
    assert class_cache.find("core-1") is None


def test_a_digest_knows_where_a_text_ends() -> None:
    assert class_cache.digest(["ab", "c"]) == class_cache.digest(["ab", "c"])
    assert len({class_cache.digest(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"])}) == 4


def test_nothing_is_cached_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without HOME, the home of a user id that has no entry is unknown."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert class_cache.find("core-1") is None
    class_cache.keep("core-1", CLASSES)
