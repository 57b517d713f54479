"""A catalog whose backups are restored into new databases on the same warehouse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from metastore.app.worker import Application
from metastore.cli.commands import run
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, FileProblem, UndropRequest

TRASH = ".metastore_trash"


class RestoredCatalog:
    """A server without sockets and timers on a database, which `restore` replaces by another one."""

    def __init__(self, make_database: Callable[..., str], folder: Path, **settings: Any) -> None:
        self.folder, self.warehouse = folder, folder / "warehouse"
        self._make_database = make_database
        self._settings = settings
        self.url = make_database()
        self.open()
        self.call("create_database", Database("db"))

    def open(self) -> None:
        """Starts a server on the present database."""
        settings = Settings(warehouse=str(self.warehouse), database_url=self.url, **self._settings)
        self.application = Application(settings, self.url)
        self.call = partial(called, self.application)
        self.application.services.databases.bootstrap()

    def close(self) -> None:
        self.application.close()

    def create(self, name: str, rows: str | None = None) -> Path:
        """Creates a table with one file of rows, and returns the file."""
        self.call("create_table", table("db", name))
        file = self.warehouse / "db.db" / name / "part-0"
        file.write_text(rows or name)
        return file

    def drop(self, name: str) -> None:
        self.call("drop_table", "db", name, True)

    def undrop(self, name: str) -> None:
        self.call("undrop", UndropRequest("db", name))

    def rows(self, name: str) -> list[str]:
        """Returns the texts of a table's files."""
        files = sorted((self.warehouse / "db.db" / name).rglob("*"))
        return [file.read_text() for file in files if file.is_file()]

    def command(self, *arguments: str) -> int:
        """Runs `metastore db …` on the present database and warehouse."""
        return run(["db", *arguments, "--database-url", self.url])

    def back_up(self) -> Path:
        file = self.folder / f"{len(list(self.folder.glob('*.backup')))}.backup"
        assert self.command("backup", str(file)) == 0
        return file

    def restore(self, file: Path) -> None:
        """Stops the server, restores the backup into an empty database, and starts a server on that."""
        self.close()
        self.url = self._make_database(empty=True)
        assert self.command("restore", str(file)) == 0
        self.open()

    def check(self, *, repair: bool = False) -> dict[str, FileProblem]:
        """Returns the problems by location, relative to the warehouse."""
        result = self.call("check_files", CheckFilesRequest(repair=repair))
        return {problem.location.removeprefix(f"file:{self.warehouse}/"): problem for problem in result.problems}

    def background(self) -> None:
        """Does what the timers do."""
        self.application.services.undrop.purge()
        self.application.journal.recover()
        self.application.services.cleaning.run()

    def contents(self) -> set[str]:
        """Returns the texts of all files of data in the warehouse, also of those in the trash."""
        return {file.read_text() for file in self.warehouse.rglob("part-*") if file.is_file()}
