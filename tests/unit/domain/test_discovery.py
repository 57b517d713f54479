"""Partitions that directories stand for. The directories are lists of paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from metastore.domain.discovery import Folder, Found, find_partitions

DAY = [("dt", "string")]
PARTS = [("y", "int"), ("m", "int"), ("d", "string")]


class Tree:
    """Directories, and the requests for them."""

    def __init__(self, *paths: str) -> None:
        self.names: dict[str, set[str]] = {"/t": set()}
        for path in paths:
            above = "/t"
            for name in path.split("/"):
                self.names[above].add(name)
                above = f"{above}/{name}"
                self.names.setdefault(above, set())
        self.asked: list[Folder] = []

    def __call__(self, folders: Sequence[Folder]) -> Iterator[list[str] | None]:
        for folder in folders:
            self.asked.append(folder)
            names = self.names.get(folder.location)
            yield None if names is None else [name for name in names if name >= folder.first]


def find(
    tree: Tree, known: Sequence[str] = (), keys: Sequence[tuple[str, str]] = tuple(DAY), *, newer: bool = False
) -> Found:
    return find_partitions("/t/", keys, known, tree, newer=newer)


def names(found: Found) -> list[str]:
    return [one.name for one in found.new]


def test_new_directories_are_partitions() -> None:
    found = find(Tree("dt=1", "dt=2", "dt=3/x=1"), ["dt=2", "dt=9"])
    assert [(one.name, one.values, one.location) for one in found.new] == [
        ("dt=1", ("1",), "/t/dt=1"),
        ("dt=3", ("3",), "/t/dt=3"),
    ]
    assert (found.seen, found.strange, found.exists) == ({"dt=1", "dt=2", "dt=3"}, [], True)


@pytest.mark.parametrize(
    ("directory", "known"),
    [
        ("dt=2024-01-01 10%3A00", "dt=2024-01-01 10%3A00"),
        ("dt=2024-01-01 10:00", "dt=2024-01-01 10%3A00"),
        ("DT=x", "dt=x"),
        ("dt=%E4", "dt=ä"),
        ("dt=a=b", "dt=a%3Db"),
        ("dt=__HIVE_DEFAULT_PARTITION__", "dt=__HIVE_DEFAULT_PARTITION__"),
    ],
)
def test_names_are_compared_as_values(directory: str, known: str) -> None:
    assert names(find(Tree(directory), [known])) == []
    (one,) = find(Tree(directory)).new
    assert (one.name, one.location) == (known, f"/t/{directory}")


def test_only_directories_above_partitions_are_listed() -> None:
    tree = Tree("y=1/m=2/d=3/skew=1", "y=1/m=3/d=4", "y=2/m=1/d=1")
    assert names(find(tree, ["y=1/m=2/d=3"], PARTS)) == ["y=1/m=3/d=4", "y=2/m=1/d=1"]
    assert sorted(folder.location for folder in tree.asked) == [
        *("/t", "/t/y=1", "/t/y=1/m=2", "/t/y=1/m=3", "/t/y=2", "/t/y=2/m=1")
    ]


def test_directories_that_are_no_partitions_are_told() -> None:
    tree = Tree(
        *(
            "backup",
            "_temporary/x",
            ".hive-staging/dt=1",
            "dt=",
            "y=2/m=x/d=1",
            "y=2/d=1",
            "y=x/m=1",
            "y=+3/m=1/d=\udcff",
        )
    )
    assert find(tree, keys=PARTS).strange == [
        *("backup: its name does not begin with y=", "dt=: its name does not begin with y="),
        *("y=x: y is int", "y=2/d=1: its name does not begin with m=", "y=2/m=x: m is int"),
        "y=+3/m=1/d=\udcff: a character of its name cannot be stored",
    ]
    assert find(Tree("dt=")).strange == ["dt=: it has no value"]
    assert find(Tree("dt=soon", "dt=2024-1-2"), keys=[("dt", "date")]).strange == ["dt=soon: dt is a date"]


def test_two_directories_of_one_partition() -> None:
    found = find(Tree("DT=1", "dt=1"))
    assert ([one.location for one in found.new], found.strange) == (
        ["/t/DT=1"],
        ["dt=1: another directory has the same values"],
    )


def test_a_name_that_is_too_long() -> None:
    (text,) = find(Tree(f"dt={'x' * 2100}")).strange
    assert text.startswith("dt=xxx")
    assert "too long" in text


def test_a_missing_table_directory() -> None:
    assert not find_partitions("/missing", DAY, [], Tree(), newer=False).exists


def test_newer_directories_begin_at_the_last_partition() -> None:
    tree = Tree("dt=2024-01-01", "dt=2024-01-02", "dt=2024-01-03", "dt=__HIVE_DEFAULT_PARTITION__")
    known = ["dt=2024-01-02", "dt=__HIVE_DEFAULT_PARTITION__"]
    assert names(find(tree, known, newer=True)) == ["dt=2024-01-03"]
    assert tree.asked == [Folder("/t", "dt=2024-01-02")]
    assert names(find(tree, known)) == ["dt=2024-01-01", "dt=2024-01-03"]
    assert names(find(tree, newer=True)) == [f"dt=2024-01-0{day}" for day in (1, 2, 3)] + [known[1]]


def test_newer_directories_of_several_columns() -> None:
    tree = Tree("y=9/m=9/d=1", "y=10/m=9/d=9", "y=10/m=10/d=1", "y=10/m=10/d=2", "y=10/m=11/d=0", "y=11/m=1/d=0")
    assert names(find(tree, ["y=9/m=12/d=7", "y=10/m=10/d=1"], PARTS, newer=True)) == [
        *("y=10/m=10/d=2", "y=10/m=11/d=0", "y=11/m=1/d=0")
    ]
    assert sorted(tree.asked) == [
        *(Folder("/t"), Folder("/t/y=10"), Folder("/t/y=10/m=10", "d=1"), Folder("/t/y=10/m=11")),
        *(Folder("/t/y=11"), Folder("/t/y=11/m=1")),
    ]
