"""Warehouse directories on the local disk and on fsspec's in-memory file system."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from metastore.errors import ConfigurationError, ConflictError, InvalidOperationError, UnavailableError
from metastore.warehouse import paths
from metastore.warehouse.file_systems import opened
from metastore.warehouse.filesystem import DirectoryStatistics, Warehouse


@pytest.fixture(params=["local", "remote"])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    root = str(tmp_path / "warehouse") if request.param == "local" else f"memory://test/{uuid.uuid4().hex}"
    made = Warehouse(root)
    made.make_directory(root)
    return made


def write(location: str, size: int, content: bytes = b"x") -> None:
    with opened(location) as (files, path):
        files.makedirs(path.rpartition("/")[0], exist_ok=True)
        files.pipe_file(path, content * size)


def test_make_exists_delete(warehouse: Warehouse) -> None:
    location = paths.join(warehouse.root, "a.db/t", "k=x%3Ay::z/h=1 2")
    assert not warehouse.exists(location)
    assert warehouse.make_directory(location)
    assert not warehouse.make_directory(location)
    write(paths.join(location, "part-0"), 3)
    assert warehouse.delete_directory(paths.join(warehouse.root, "a.db"))
    assert not warehouse.exists(location)
    assert not warehouse.delete_directory(location)
    assert warehouse.exists(warehouse.root)


def test_many_directories_are_created_concurrently(warehouse: Warehouse) -> None:
    locations = [paths.join(warehouse.root, "t", f"n={n}") for n in range(50)]
    warehouse.make_directory(locations[7])
    assert list(warehouse.make_directories(locations)) == [*locations[:7], *locations[8:]]
    above = paths.join(warehouse.root, "new")
    made = list(warehouse.make_directories([paths.join(above, "x")]))
    assert made == ([paths.join(above, "x"), above] if above.startswith("file:") else [paths.join(above, "x")])
    warehouse.delete_directory(above)
    assert all(warehouse.exists(location) for location in locations)
    assert len(warehouse.statistics(locations)) == 50
    outside = "nosuchscheme://a/b"
    assert list(warehouse.make_directories([outside, paths.join(warehouse.root, "new"), outside])) == [
        paths.join(warehouse.root, "new")
    ]


def test_a_file_does_not_stay_beside_its_copy_where_nothing_can_be_renamed(warehouse: Warehouse) -> None:
    """A call was interrupted between the copy and the removal."""
    source, target = paths.join(warehouse.root, "t/a"), paths.join(warehouse.root, "t/new/a")
    write(source, 3)
    write(target, 3)
    if warehouse.root.startswith("memory:"):
        assert not warehouse.move_file(source, target)
        assert not warehouse.exists(source)
        write(source, 3, b"y")  # another file of the same name and size
    with pytest.raises(ConflictError, match=r"cannot be moved: .* exists"):
        warehouse.move_file(source, target)
    assert warehouse.exists(source)


def test_empty_parents_go_up_to_the_table(warehouse: Warehouse) -> None:
    table = paths.join(warehouse.root, "t")
    for name in ("a=1/b=1/c=1", "a=1/b=2/c=1"):
        warehouse.make_directory(paths.join(table, name))
    warehouse.delete_directory(paths.join(table, "a=1/b=1/c=1"))
    warehouse.delete_empty_parents(paths.join(table, "a=1/b=1/c=1"), table)
    assert not warehouse.exists(paths.join(table, "a=1/b=1"))
    assert warehouse.exists(paths.join(table, "a=1"))
    warehouse.delete_directory(paths.join(table, "a=1/b=2/c=1"))
    warehouse.delete_empty_parents(paths.join(table, "a=1/b=2/c=1"), table)
    assert not warehouse.exists(paths.join(table, "a=1"))
    assert warehouse.exists(table)


def test_a_full_directory_is_not_deleted_as_empty(warehouse: Warehouse) -> None:
    location = paths.join(warehouse.root, "t")
    write(paths.join(location, "part-0"), 1)
    assert not warehouse.delete_empty(location)
    assert warehouse.exists(paths.join(location, "part-0"))


def test_a_move_takes_all_along(warehouse: Warehouse) -> None:
    old, new = paths.join(warehouse.root, "old"), paths.join(warehouse.root, "x.db/new")
    write(paths.join(old, "k=1/part-0"), 5)
    warehouse.move_into(old, new)
    assert warehouse.statistics([new]) == {new: DirectoryStatistics(1, 5)}
    assert not warehouse.exists(old)


def test_statistics_skip_files_that_hive_hides(warehouse: Warehouse) -> None:
    location = paths.join(warehouse.root, "_not_hidden_itself/t")
    for name in ("a", "k=1/b", "k=1/_SUCCESS", "_temporary/c", "k=2/.part.crc"):
        write(paths.join(location, name), 10)
    assert warehouse.statistics([location, paths.join(warehouse.root, "missing")]) == {
        location: DirectoryStatistics(2, 20)
    }


def test_protected_directories_stay(warehouse: Warehouse) -> None:
    for location in (warehouse.root, paths.parent(warehouse.root), paths.join(warehouse.root, "a/.."), "/", "s3a://b"):
        with pytest.raises(InvalidOperationError):
            warehouse.delete_directory(location)
        with pytest.raises(InvalidOperationError):
            warehouse.delete_empty(location)
        with pytest.raises(InvalidOperationError):
            warehouse.move_into(location, paths.join(warehouse.root, "b"))
    assert warehouse.exists(warehouse.root)


@pytest.mark.parametrize("location", ["nosuchscheme://a/b", "gs://bucket/a"])
def test_a_file_system_that_is_not_there_is_named(location: str, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as raised:
        Warehouse(str(tmp_path), [location]).make_directory(location)
    assert location in str(raised.value)
    assert "\n" not in str(raised.value)


def test_check_makes_the_warehouse(tmp_path: Path) -> None:
    Warehouse(f"{tmp_path}/a/b").check()
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_an_unusable_warehouse_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="--warehouse") as raised:
        Warehouse(f"{tmp_path}/file/below").check()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("location", ["http://127.0.0.1:1/warehouse", "https://example.org/w"])
def test_a_warehouse_in_which_nothing_can_be_deleted_is_one_line(location: str) -> None:
    with pytest.raises(
        ConfigurationError, match="its file system is read-only; choose another location with --warehouse"
    ):
        Warehouse(location).check()


def test_a_root_with_an_unknown_scheme_is_accepted(tmp_path: Path) -> None:
    """External tables below it are registered without being touched, so no library is needed."""
    Warehouse(str(tmp_path), [str(tmp_path), "nosuchscheme://a/b"]).check()


def test_a_root_in_which_nothing_can_be_deleted_is_one_line(tmp_path: Path) -> None:
    location = "http://127.0.0.1:1/data"
    with pytest.raises(
        ConfigurationError,
        match=f"^allowed_locations {location}: .*; choose another location with --allowed-locations or ",
    ):
        Warehouse(str(tmp_path), [str(tmp_path), "gs://bucket/x", location]).check()


def test_files_at_any_depth(warehouse: Warehouse) -> None:
    location = paths.join(warehouse.root, "t")
    for name in ("a", "k=1/b", "_versions/q/k=2/c", ".hidden"):
        write(paths.join(location, name), len(name))
    warehouse.make_directory(paths.join(location, "empty"))
    actual = {file.location.removeprefix(f"{location}/"): file for file in warehouse.files(location)}
    assert {name: file.bytes for name, file in actual.items()} == {name: len(name) for name in actual}
    assert set(actual) == {"a", "k=1/b", "_versions/q/k=2/c", ".hidden"}
    assert all(file.modified and file.modified > 10**9 for file in actual.values())
    assert warehouse.files(paths.join(location, "a")) == [actual["a"]]
    assert warehouse.files(paths.join(location, "missing")) == []
    inside, below = warehouse.children(location)
    assert [paths.name(file.location) for file in inside] == [".hidden", "a"]
    assert [paths.name(text) for text in below] == ["_versions", "empty", "k=1"]


@pytest.mark.parametrize("name", ["x" * 300, "loop/t"])
def test_no_file_exists_below_a_file(name: str, tmp_path: Path) -> None:
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    warehouse.make_directory(warehouse.root)
    (tmp_path / "warehouse/loop").symlink_to("loop")
    location = paths.join(warehouse.root, name)
    assert not warehouse.exists(location)
    assert warehouse.children(location) == ([], [])
    assert not warehouse.move_to_trash(location, paths.join(warehouse.root, ".trash/1"))
    assert not warehouse.delete_directory(location)


def test_links_are_not_followed(tmp_path: Path) -> None:
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    location = paths.join(warehouse.root, "t")
    write(f"file:{tmp_path}/outside/part-0", 1)
    warehouse.make_directory(location)
    (tmp_path / "warehouse/t/link").symlink_to(tmp_path / "outside")
    assert [file.location for file in warehouse.files(location)] == [paths.join(location, "link")]
    warehouse.delete_directory(location)
    assert (tmp_path / "outside/part-0").exists()


def test_directories_that_cannot_be_listed_are_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = Warehouse(str(tmp_path))

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("nobody answers")

    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.info", refuse)
    for ask in (warehouse.files, warehouse.exists, warehouse.children):
        with pytest.raises(UnavailableError, match="nobody answers"):
            ask(f"{warehouse.root}/t")


def test_a_location_is_no_pattern(warehouse: Warehouse) -> None:
    for name in ("t[12]/k=1/a", "t[12]/b", "t1/c", "t2/d", "t*/e", "t?"):
        write(paths.join(warehouse.root, name), 1)
    warehouse.make_directory(paths.join(warehouse.root, "t[12]/empty/deep"))

    def left() -> set[str]:
        return {file.location.removeprefix(f"{warehouse.root}/") for file in warehouse.files(warehouse.root)}

    warehouse.move_into(paths.join(warehouse.root, "t[12]"), paths.join(warehouse.root, "new/x*"))
    assert left() == {"new/x*/k=1/a", "new/x*/b", "t1/c", "t2/d", "t*/e", "t?"}
    assert warehouse.exists(paths.join(warehouse.root, "new/x*/empty/deep"))
    warehouse.move_into(paths.join(warehouse.root, "t?"), paths.join(warehouse.root, "f?"))
    for name in ("t*", "new/x*", "f?"):
        assert warehouse.delete_directory(paths.join(warehouse.root, name))
        assert not warehouse.delete_directory(paths.join(warehouse.root, name))
    assert left() == {"t1/c", "t2/d"}
