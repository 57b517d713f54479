"""Random histories of a catalog whose backups are restored, with a model that knows where each file belongs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import make_url

from metastore.errors import MetastoreError
from tests.fixtures.database import execute
from tests.wire.builders import partition, table
from tests.wire.restore.catalog import RestoredCatalog
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CheckFilesRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
    Rename,
    RenewWriteRequest,
    UndropRequest,
)

DATABASES = ("d1", "d2")
NAMES = ("a", "b")
DAYS = ("1", "2")
Name = tuple[str, str]
Rows = list["Box"]
"""The files of a table or partition."""


class Box(set[str]):
    """Files that move together: those of a directory since it was empty."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def texts(rows: Rows) -> set[str]:
    return {text for box in rows for text in box}


@dataclass
class Held:
    """A table of the model. `days`: the partitions of a partitioned table."""

    uid: int
    managed: bool
    rows: Rows = field(default_factory=lambda: [Box()])
    days: dict[str, Rows] | None = None

    def contents(self) -> Iterator[tuple[str | None, Rows]]:
        yield None, self.rows
        yield from (self.days or {}).items()

    def copied(self) -> Held:
        days = None if self.days is None else {day: list(rows) for day, rows in self.days.items()}
        return Held(self.uid, self.managed, list(self.rows), days)


class Drop(NamedTuple):
    """A drop that the model can undo. `uid`: of the table that stayed; `held`: what was dropped."""

    kind: str
    name: Name
    uid: int | None
    held: Any


class Backup(NamedTuple):
    url: str
    databases: set[str]
    tables: dict[Name, Held]
    drops: list[Drop]
    texts: dict[tuple[int, str | None], set[str]]


class History:
    """Runs random steps on a catalog and on the model, and compares both after each."""

    def __init__(self, make_database: Callable[..., str], postgres: str, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._postgres = postgres
        self._make_database = make_database
        self._numbers = count()
        self.catalog = RestoredCatalog(make_database, folder)
        self.databases: set[str] = set()
        self.tables: dict[Name, Held] = {}
        self.drops: list[Drop] = []
        self.backups: list[Backup] = []
        self.written: set[str] = set()
        self.together: list[Rows] = []  # boxes that have shared a directory
        self.left: set[Path] = set()  # directories of external tables that were dropped or lost partitions
        self.steps: list[str] = []
        for name in DATABASES:
            self._create_database(name)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            step = self._random.choice(STEPS)
            self.steps.append(step.__name__)
            step(self)
            self.check()
        if self.backups:
            self.steps.append("restore")
            self.restore()

    def check(self) -> None:
        """Compares tables, partitions and files with the model."""
        on_disk = self.files(self.catalog.warehouse)
        assert set(on_disk) == self.written, f"lost: {self.written - set(on_disk)}"
        assert len(on_disk) == len(set(on_disk)), "a file was doubled"
        for database in self.databases:
            expected = {name for of, name in self.tables if of == database}
            assert set(self.catalog.call("get_all_tables", database)) == expected
        for name, held in self.tables.items():
            for day, rows in held.contents():
                assert self.shown(name, day) == texts(rows), (name, day)

    @staticmethod
    def files(folder: Path) -> list[str]:
        found = [file for file in folder.rglob("part-*") if file.is_file()]
        hashes = [sha256(file.read_bytes()).hexdigest() for file in found]
        assert all(file.name == f"part-{digest[:16]}" for file, digest in zip(found, hashes, strict=True))
        return [file.name for file in found]

    def shown(self, name: Name, day: str | None) -> set[str]:
        """Returns the files that readers of a table or partition see."""
        folder = self._folder(name, day)
        return {file.name for file in folder.iterdir() if file.is_file()} if folder.is_dir() else set()

    def _folder(self, name: Name, day: str | None) -> Path:
        found = (
            self.catalog.call("get_table", *name) if day is None else self.catalog.call("get_partition", *name, [day])
        )
        return Path(found.decode().sd.location.removeprefix("file:"))

    def _root(self, name: Name) -> Path:
        return Path(str(self._folder(name, None)).partition("/_versions/")[0])

    def _write(self, folder: Path, rows: Rows) -> None:
        text = f"rows {next(self._numbers)} {self._random.random()}".encode()
        file = f"part-{sha256(text).hexdigest()[:16]}"
        (folder / file).write_bytes(text)
        self.written.add(file)
        rows[-1].add(file)

    def _any(self, condition: Callable[[Held], bool] = lambda _: True) -> tuple[Name, Held] | None:
        found = [(name, held) for name, held in self.tables.items() if condition(held)]
        return self._random.choice(found) if found else None

    def _default(self, name: Name) -> Path:
        return self.catalog.warehouse / f"{name[0]}.db" / name[1]

    def _is_left(self, folder: Path) -> bool:
        """Returns whether a directory that nothing uses has files, as only those of dropped external tables have."""
        files = self.files(folder) if folder.is_dir() else []
        assert not files or not self.left.isdisjoint((folder, *folder.parents)), f"{folder} has {files} of nobody"
        return bool(files)

    def _create_database(self, name: str) -> None:
        self.catalog.call("create_database", Database(name))
        self.databases.add(name)

    def create(self) -> None:
        free = [(d, n) for d in sorted(self.databases) for n in NAMES if (d, n) not in self.tables]
        if not free:
            return
        name = self._random.choice(free)
        new = table(*name, [("ds", "string")] if self._random.random() < 0.4 else [])
        managed = self._random.random() < 0.7
        if not managed:
            new.tableType, new.parameters = "EXTERNAL_TABLE", {"EXTERNAL": "TRUE"}
        others = {self._folder(other, None) for other in self.tables}
        if self._default(name) in others:
            with suppress(MetastoreError):
                self.catalog.call("create_table", new)
                raise AssertionError(f"{name} got the directory of another table")
            return
        if self._is_left(self._default(name)):
            return
        self.catalog.call("create_table", new)
        self.tables[name] = Held(next(self._numbers), managed, days={} if new.partitionKeys else None)

    def insert(self) -> None:
        if found := self._any(lambda held: held.days != {}):
            name, held = found
            day = self._random.choice(list(held.days)) if held.days else None
            self._write(self._folder(name, day), held.rows if day is None else held.days[day])  # type: ignore[index]

    def add_partition(self) -> None:
        if (found := self._any(lambda held: held.days is not None and len(held.days) < len(DAYS))) and found[
            1
        ].days is not None:
            name, held = found
            day = self._random.choice([day for day in DAYS if day not in held.days])
            folder = self._folder(name, None) / f"ds={day}"
            new = partition(*name, [day])
            if folder in {self._folder(name, other) for other in held.days}:
                with suppress(MetastoreError):
                    self.catalog.call("add_partition", new)
                    raise AssertionError(f"{name} {day} got the directory of another partition")
            elif not self._is_left(folder):
                self.catalog.call("add_partition", new)
                held.days[day] = [Box()]

    def drop_partition(self) -> None:
        if found := self._any(lambda held: bool(held.days) and held.managed):
            name, held = found
            day = self._random.choice(list(held.days))
            self.catalog.call("drop_partition", *name, [day], True)
            self.drops.append(Drop("partitions", name, held.uid, {day: held.days.pop(day)}))

    def rename_partition(self) -> None:
        if found := self._any(lambda held: bool(held.days) and len(held.days) < len(DAYS)):
            name, held = found
            day = next(iter(held.days))
            other = next(each for each in DAYS if each not in held.days)
            renamed = self.catalog.call("get_partition", *name, [day]).decode()
            renamed.values = [other]
            with suppress(MetastoreError):  # its directory exists
                self.catalog.call("rename_partition", *name, [day], renamed)
                held.days[other] = held.days.pop(day)

    def rename(self) -> None:
        if found := self._any():
            name = found[0]
            free = [(d, n) for d in sorted(self.databases) for n in NAMES if (d, n) not in self.tables]
            if free:
                target = self._random.choice(free)
                renamed = self.catalog.call("get_table", *name).decode()
                renamed.dbName, renamed.tableName = target
                with suppress(MetastoreError):  # its directory exists
                    self.catalog.call("alter_table", *name, renamed)
                    self.tables[target] = self.tables.pop(name)

    def truncate(self) -> None:
        if found := self._any(lambda held: held.managed):
            name, held = found
            self.catalog.call("truncate_table", *name, None)
            if held.days is None:
                self.drops.append(Drop("truncated", name, held.uid, {None: held.rows}))
                held.rows = [Box()]
            else:
                self.drops.append(Drop("truncated", name, held.uid, dict(held.days)))
                held.days = {day: [Box()] for day in held.days}

    def overwrite(self) -> None:
        if found := self._any(lambda held: held.managed and held.days is None):
            name, held = found
            root = self._root(name)
            query = str(self.catalog.call("begin_write", BeginWriteRequest(*name)).queryId)
            folder = root / "_versions" / query
            folder.mkdir(parents=True)
            rows: Rows = [Box()]
            self._write(folder, rows)
            entry = PublishPartition([], PublishMode.OVERWRITE, f"file:{folder}", [])
            self.catalog.call("publish", PublishRequest(*name, query, [entry]))
            self.drops.append(Drop("overwritten", name, held.uid, {None: held.rows}))
            held.rows = rows

    def overwrite_in_place(self) -> None:
        """Overwrites a table or partition where it is, as our client does. A third of these writes fail."""
        found = self._any(lambda held: held.managed and held.days != {})
        if not found:
            return
        name, held = found
        day = self._random.choice(list(held.days)) if held.days else None
        folder = self._folder(name, day)
        if "_versions" in folder.parts:
            return
        if day is None and not self.shown(name, None):
            return  # as rows that are added to an empty table
        query = str(self.catalog.call("begin_write", BeginWriteRequest(*name)).queryId)
        if day is None:
            away = [(file, folder / f"_temp_{query}" / file.name) for file in folder.glob("part-*")]
        else:
            away = [(folder, folder.parent / f"_temp_{query}_{folder.name.replace('=', '~')}")]
        renames = [Rename(f"file:{source}", f"file:{target}") for source, target in away]
        self.catalog.call("renew_write", RenewWriteRequest(query, renames=renames))
        for source, target in away:
            target.parent.mkdir(exist_ok=True)
            source.rename(target)
        if self._random.random() < 0.33:
            for source, target in away:
                target.rename(source)
            self.catalog.call("end_write", query)
            return
        folder.mkdir(exist_ok=True)
        rows: Rows = [Box()]
        self._write(folder, rows)
        entry = PublishPartition([] if day is None else [day], PublishMode.OVERWRITE, f"file:{folder}", [])
        retired = [rename.target for rename in renames]
        self.catalog.call("publish", PublishRequest(*name, query, [entry], retired=retired))
        former = held.rows if day is None else held.days[day]  # type: ignore[index]
        self.drops.append(Drop("overwritten", name, held.uid, {day: former}))
        if day is None:
            held.rows = rows
        elif held.days:
            held.days[day] = rows

    def drop(self) -> None:
        if found := self._any():
            name, held = found
            self._leave(name, held)
            self.catalog.call("drop_table", *name, True)
            self.drops.append(Drop("table", name, None, held))
            del self.tables[name]

    def _leave(self, name: Name, held: Held) -> None:
        if not held.managed:
            self.left.add(self._folder(name, None))

    def drop_database(self) -> None:
        if self.databases:
            database = self._random.choice(sorted(self.databases))
            dropped = {name: held for name, held in self.tables.items() if name[0] == database}
            for name, held in dropped.items():
                self._leave(name, held)
            self.catalog.call("drop_database", database, True, True)
            self.databases.remove(database)
            for name in dropped:
                del self.tables[name]
            self.drops.append(Drop("database", (database, ""), None, dropped))

    def create_database(self) -> None:
        if missing := [name for name in DATABASES if name not in self.databases]:
            self._create_database(missing[0])

    def undrop(self) -> None:
        wanted = [(d, n) for d in DATABASES for n in (*NAMES, "")]
        name = self._random.choice(wanted)
        live = self.tables.get(name)
        found = [
            drop
            for drop in self.drops
            if (drop.uid is None and drop.name == name) or (drop.uid is not None and live and drop.uid == live.uid)
        ]
        if not found or (live and found[-1].uid is None):
            return
        drop = found[-1]
        with suppress(MetastoreError):  # its location is used
            answer = self.catalog.call("undrop", UndropRequest(name[0], name[1] or None))
            assert answer.kind == drop.kind, (answer, drop)
            self._undo(drop, name, live)

    def _undo(self, drop: Drop, name: Name, live: Held | None) -> None:
        self.drops.remove(drop)
        if drop.kind == "database":
            self.databases.add(name[0])
            self.tables |= drop.held
        elif drop.kind == "table":
            self.tables[name] = drop.held
        elif live is not None and drop.kind == "partitions":
            assert live.days is not None
            live.days |= drop.held
        elif live is not None:
            for day, rows in drop.held.items():
                now = live.rows if day is None else (live.days or {}).get(day)
                if now is not None:
                    now[:] = rows if drop.kind == "overwritten" else [*now, *rows, Box()]
                    self.together.append(list(now))

    def back_up(self) -> None:
        tables = {name: held.copied() for name, held in self.tables.items()}
        self.catalog.close()
        url = self._copy(self.catalog.url)
        frozen = {(h.uid, day): texts(rows) for h in tables.values() for day, rows in h.contents()}
        drops = [drop._replace(held=self._copied(drop.held)) for drop in self.drops]
        self.backups.append(Backup(url, set(self.databases), tables, drops, frozen))
        self.catalog.open()

    def _copied(self, held: Any) -> Any:
        if isinstance(held, Held):
            return held.copied()
        return {key: each.copied() if isinstance(each, Held) else list(each) for key, each in held.items()}

    def _copy(self, url: str) -> str:
        new = self._make_database(empty=True)
        source, target = make_url(url).database, make_url(new).database
        execute(self._postgres, f"DROP DATABASE {target}")
        execute(self._postgres, f"CREATE DATABASE {target} TEMPLATE {source}")
        return new

    def restore(self) -> None:
        """Restores a random backup, and reconciles once or several times."""
        if not self.backups:
            return
        backup = self._random.choice(self.backups)
        self.catalog.close()
        self.catalog.url = self._copy(backup.url)
        self.catalog.open()
        with self.catalog.application._store.transaction(audited=False) as work:
            work.lineage.mark("true")
        for _ in range(self._random.choice([1, 2, 3])):
            self.catalog.application.reconciliation().reconcile(dry_run=False)
        self.catalog.close()
        self.catalog.open()
        self.databases = set(backup.databases)
        self.tables = {name: held.copied() for name, held in backup.tables.items()}
        self.drops = [drop._replace(held=self._copied(drop.held)) for drop in backup.drops]
        for name, held in self.tables.items():
            for day, rows in held.contents():
                self._compare(name, day, rows, backup.texts[held.uid, day])
        used = {self._root(name) for name in self.tables}
        for folder in {self._default((database, name)) for database in DATABASES for name in NAMES} - used:
            self._is_left(folder)
        self.catalog.call("check_files", CheckFilesRequest())

    def _compare(self, name: Name, day: str | None, rows: Rows, least: set[str]) -> None:
        """Checks that the files of the moment are back, and no others than those that were written next to them."""
        shown = self.shown(name, day)
        beside = [other for other in self.together if any(box is own for box in other for own in rows)]
        most = texts(rows) | {text for other in beside for text in texts(other)}
        assert least <= shown, (name, day, "missing", least - shown)
        assert shown <= most, (name, day, "of another moment", shown - most)
        for box in rows:
            box &= shown
        rows.append(Box(shown - texts(rows)))
        self.together.append(list(rows))


STEPS: list[Callable[[History], None]] = [
    *[History.create] * 3,
    *[History.insert] * 5,
    *[History.add_partition] * 2,
    History.drop_partition,
    History.rename_partition,
    *[History.rename] * 2,
    *[History.truncate] * 3,
    History.overwrite,
    *[History.overwrite_in_place] * 2,
    *[History.drop] * 2,
    History.drop_database,
    *[History.create_database] * 2,
    *[History.undrop] * 3,
    *[History.back_up] * 2,
    *[History.restore] * 2,
]
