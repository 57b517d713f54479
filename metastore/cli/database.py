"""`metastore db`: the commands of the database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from metastore.app.database import database
from metastore.cli.printing import Cell, print_lines, print_table, printable
from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.settings.sections import TRANSACTION
from metastore.storage.postgres import backup
from metastore.storage.postgres.engine import make_engine
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.lineage import BACKUP, Lineages
from metastore.storage.verification.verify import verify
from migrations import runner

_UNFINISHED = (
    "Servers of the previous version can continue. When the last one has stopped, run: metastore db upgrade --finish"
)

_BACKUPS = "metastore-[0-9]*T[0-9]*Z.backup"  # backups in a directory; their names sort by time


def upgrade(settings: Settings) -> str:
    """Creates or upgrades the schema. Returns a confirmation, with the next step."""
    with database(settings, make=True) as url:
        url = settings.database_direct_url or url
        state = "upgraded" if runner.upgrade(url) else "up to date"
        rest = "" if runner.is_finished(url) else f" {_UNFINISHED}"
        return f"{settings.safe_url} is {state}: revision {runner.head()}.{rest}"


def finish(settings: Settings) -> str:
    """Removes what only servers of the previous version need. Returns a confirmation."""
    with database(settings) as url:
        url = settings.database_direct_url or url
        state = "is finished" if runner.finish(url) else "was already finished"
        return f"{settings.safe_url}: The upgrade to revision {runner.head()} {state}."


def show_current(settings: Settings) -> None:
    """Prints the revision of the database and the revision that this version needs."""
    with database(settings) as url:
        row = settings.safe_url, runner.current(url), runner.head(), runner.is_finished(url)

    def line(address: str, revision: str | None, needed: str, finished: bool) -> str:
        rest = "" if finished else f" {_UNFINISHED}"
        return f"{address}: revision {revision or 'none'}, this version needs {needed}.{rest}"

    print_lines(("database", "revision", "needed", "finished"), [row], line)


def back_up(settings: Settings, target: Path, keep: int | None) -> str:
    """Writes a backup to a file, or to a new file in a directory. Returns a confirmation.

    `keep`: the number of backups in the directory that stay, the newest ones; None for all. Raises ConfigurationError,
    UnavailableError.
    """
    is_folder = target.is_dir()
    if keep is not None and not is_folder:
        raise ConfigurationError(f"--keep needs a directory, and {target} is not one")
    file = target / f"metastore-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.backup" if is_folder else target
    with database(settings) as url:
        revision = runner.current(url)
        if revision is None:
            raise ConfigurationError(f"{settings.safe_url} has no schema. Nothing to back up.")
        backup.back_up(_direct_url(settings, url), file)
        older = sorted(target.glob(_BACKUPS))[:-keep] if keep else []
        for backup_file in older:
            backup_file.unlink(missing_ok=True)
        rest = f"; {len(older)} older backups deleted" if older else ""
        return f"{settings.safe_url}, revision {revision}: {file}, {file.stat().st_size} bytes{rest}"


def restore(settings: Settings, file: Path) -> str:
    """Restores a backup into an empty database. Returns a confirmation.

    Raises ConfigurationError, UnavailableError.
    """
    with database(settings, make=True) as url:
        if runner.current(url) is not None:
            raise ConfigurationError(
                f"{settings.safe_url} already contains a metastore. Restore into an empty database."
            )
        backup.restore(_direct_url(settings, url), file)
        revision = runner.current(url)
        _mark_restored(settings, url)
        rest = ""
        if revision != runner.head():
            fix = "Run: metastore db upgrade."
            if (revision or "") > runner.head():
                fix = "Install the version of metastore that wrote the backup, or a later one."
            rest = f" This version needs {runner.head()}. {fix}"
        rest += " Then reconcile it with the files: metastore db restored"
        return f"{settings.safe_url} restored from {file}: revision {revision}.{rest}"


def _mark_restored(settings: Settings, url: str) -> None:
    """Records that the database was loaded from a backup: servers clean no files until `metastore db restored`."""
    engine = make_engine(settings, url)
    try:
        with engine.begin() as connection:
            Lineages(Session(connection)).mark(BACKUP)
    finally:
        engine.dispose()


def _direct_url(settings: Settings, url: str) -> str:
    """Returns the URL for PostgreSQL's programs, which set up sessions. Raises ConfigurationError for a pooler."""
    if settings.database_direct_url:
        return settings.database_direct_url
    if settings.database_pooler == TRANSACTION:
        raise ConfigurationError(
            "pg_dump and psql need a dedicated session, which a pooler in transaction mode does not provide: set "
            "METASTORE_DATABASE_DIRECT_URL to the address of PostgreSQL"
        )
    return url


def show_servers(settings: Settings) -> None:
    """Prints the servers that use the database, with their versions."""
    with database(settings) as url:
        servers = runner.servers(url)
    rows: list[list[Cell]] = [
        [server.address, server.version or "older", server.revision, server.workers, f"{server.seen:.0f} s ago"]
        if server.seen is not None
        else [server.address, "older", "", f"{server.workers} connections", "now"]
        for server in servers
    ]
    print_table("Servers", ["address", "version", "revision", "workers", "last seen"], rows)


def show_verified(settings: Settings, most: int) -> int:
    """Prints the numbers of rows and of mismatches for each kind of row, then at most `most` mismatches of each kind.

    Returns the exit status: 1 if there are mismatches. Raises ConfigurationError if the schema has another version.
    """
    with database(settings) as url:
        runner.check(url)
        engine = make_engine(settings, url)
        try:
            results = list(verify(engine, most))
        finally:
            engine.dispose()
    print_table(
        "Rows",
        ["kind", "rows", "wrong"],
        [[result.kind, result.rows, result.wrong] for result in results],
    )
    for result in results:
        for difference in result.differences:
            click.echo(printable(f"metastore: {difference}"), err=True)
    wrong = sum(result.wrong for result in results)
    if wrong:
        rows = "1 row does" if wrong == 1 else f"{wrong} rows do"
        hint = "Alter these objects through a client, which updates both forms, or restore a backup."
        click.echo(f"metastore: {rows} not match the encoded object that clients receive. {hint}", err=True)
    return 1 if wrong else 0
