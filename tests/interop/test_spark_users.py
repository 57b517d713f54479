"""Two users of one `metastore spark serve`, each with a driver of an own user of the operating system.

Root makes the users. With every version of Spark. Spark Connect of Spark 3.5 cannot authenticate; there, clients come
by JDBC only.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from metastore.client import Credentials, connect
from metastore.security.passwords import PasswordFile
from spark_client.jvm.versions import TESTED
from tests.fixtures.os_users import LAUNCH, Account, accounts, cannot_run, missing
from tests.fixtures.server import Server, running
from tests.fixtures.sparks import python_of
from tests.interop.spark_gateway import Gateway, command, password_of, serving
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType

HIDDEN = "TABLE_OR_VIEW_NOT_FOUND"
STRANGER = "spark_stranger"  # of the metastore, but not of the operating system


@dataclass
class Users:
    """A running gateway, and its two users. `folder` has the warehouse."""

    gateway: Gateway
    alice: Account
    bob: Account
    passwords: PasswordFile
    folder: Path

    def connect(self) -> Gateway:
        """Returns the gateway if its Spark Connect can authenticate. Skips the test otherwise."""
        if self.gateway.connect is None:
            pytest.skip(f"Spark Connect of Spark {self.gateway.spark} cannot authenticate")
        return self.gateway

    def ask(self, account: Account, *statements: str) -> str:
        """Returns what beeline prints."""
        return self.gateway.beeline(account.name, password_of(account.name), *statements)

    def table(self, account: Account, name: str) -> Path:
        return self.folder / "warehouse" / f"{account.name}.db" / name

    def create(self, account: Account, name: str) -> None:
        """Makes a table in a directory of the user: the metastore makes it as the user of the metastore."""
        answer = self.ask(account, f"CREATE TABLE {account.name}.{name} (id INT, name STRING) USING parquet")
        assert self.table(account, name).is_dir(), answer
        os.chown(self.table(account, name), account.uid, account.uid)

    def driver(self, account: Account) -> tuple[psutil.Process, psutil.Process]:
        """Returns the driver of a user and its Java."""
        (java,) = (
            process
            for process in psutil.Process(self.gateway.process.pid).children(recursive=True)
            if process.name() == "java" and process.uids().real == account.uid
        )
        return java.parent(), java


@pytest.fixture(scope="module", params=TESTED)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def served(version: str, database: str, folder: Path, made: list[Account]) -> Iterator[tuple[Gateway, PasswordFile]]:
    passwords = PasswordFile(folder / "users")
    for name in ("admin", "root", STRANGER, *(account.name for account in made)):
        passwords.add(name, password_of(name))
    options = ["--authentication", "password", "--password-file", str(passwords._path), "--authorization", "grants"]
    options += ["--admins", "admin", "--allow-password-without-tls", "true"]
    with running(database, folder, *options) as server:
        make_databases(server, folder, made)
        with serving(
            version,
            server,
            folder,
            connect=version != "3.5",
            launch=LAUNCH,
            variables={"AWS_SECRET_ACCESS_KEY": "xyzzy"},
        ) as gateway:
            yield gateway, passwords


def make_databases(server: Server, folder: Path, made: list[Account]) -> None:
    """Makes a database for each user, in a directory of the user."""
    admin = Credentials(user="admin", password=password_of("admin"))
    with connect(f"thrift://localhost:{server.port}", credentials=admin) as client:
        for account in made:
            client.methods.create_database(
                Database(name=account.name, ownerName=account.name, ownerType=PrincipalType.USER)
            )
            directory = folder / "warehouse" / f"{account.name}.db"
            directory.mkdir(exist_ok=True)
            directory.chmod(0o755)  # so that the files decide
            os.chown(directory, account.uid, account.uid)


@pytest.fixture(scope="module")
def users(version: str, make_database: Callable[[], str]) -> Iterator[Users]:
    if reason := missing():
        pytest.skip(reason)
    # Not in a directory of pytest, which other users cannot enter.
    folder = Path(tempfile.mkdtemp(prefix="spark-users-"))
    folder.chmod(0o755)
    with accounts(("spark_alice", "spark_bob")) as made:
        if reason := cannot_run(python_of(version), made[0]):
            pytest.skip(reason)
        with served(version, make_database(), folder, made) as (gateway, passwords):
            (folder / "warehouse").chmod(0o755)
            yield Users(gateway, *made, passwords, folder)
    shutil.rmtree(folder)


def test_spark_connect_of_spark_3_is_rejected(version: str) -> None:
    if version != "3.5":
        pytest.skip("Spark Connect can authenticate")
    arguments = ("--uri", "thrift://127.0.0.1:1", "--launch", "env USER={user}", "--connect", "15002")
    ran = subprocess.run(command(version, *arguments), capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert re.fullmatch(r"metastore: Spark Connect of Spark 3\.5\.\d cannot authenticate: [^\n]*--thrift\n", ran.stderr)


@pytest.mark.timeout(900)
def test_each_driver_has_its_user_and_the_rights_of_that_user(users: Users) -> None:
    for account in (users.alice, users.bob):
        name = account.name
        users.create(account, "by_jdbc")
        answer = users.ask(
            account,
            f"INSERT INTO {name}.by_jdbc SELECT 11, current_user()",
            f"SELECT concat('result ', id, name) FROM {name}.by_jdbc",
            "SELECT concat('user ', reflect('java.lang.System', 'getProperty', 'user.name'))",
        )
        assert f"result 11{name}" in answer, answer
        assert f"user {name}" in answer, answer
        driver, java = users.driver(account)
        assert {process.uids().real for process in (driver, java)} == {account.uid}
        assert {path.stat().st_uid for path in users.table(account, "by_jdbc").rglob("*.parquet")} == {account.uid}
        log = users.gateway.metastore.log.read_text()
        assert f" {name} create_table" in log
    for statement in (f"SELECT * FROM {users.alice.name}.by_jdbc", f"DROP TABLE {users.alice.name}.by_jdbc"):
        assert HIDDEN in users.ask(users.bob, statement)


@pytest.mark.timeout(900)
def test_the_operating_system_protects_files(users: Users) -> None:
    """Nothing but permissions: statements may name files, and the metastore does not see them."""
    users.create(users.alice, "private")
    answer = users.ask(users.alice, f"INSERT INTO {users.alice.name}.private VALUES (7, 'x')")
    (file,) = users.table(users.alice, "private").rglob("*.parquet")
    file.chmod(0o600)
    for account, expected in ((users.alice, "result 7"), (users.bob, "Permission denied")):
        answer = users.ask(account, f"SELECT concat('result ', id) FROM parquet.`{file}`")
        assert expected in answer, answer
    directory = users.table(users.alice, "private")
    answer = users.ask(users.bob, f"INSERT OVERWRITE DIRECTORY '{directory}' USING parquet SELECT 1")
    assert "denied" in answer or "FAILED" in answer or "Unable to" in answer, answer
    assert file.exists()


@pytest.mark.timeout(900)
def test_functions_of_a_user_find_nothing_of_others(users: Users) -> None:
    gateway, path = users.connect(), users.alice.home / "private"
    path.write_text("text of alice")
    path.chmod(0o600)
    os.chown(path, users.alice.uid, users.alice.uid)
    users.alice.home.chmod(0o755)
    users.ask(users.alice, "SELECT 1")  # her driver runs
    for account, content in ((users.alice, "text of alice"), (users.bob, "PermissionError")):
        ((found,),) = gateway.ask(account.name, f"!look {path}")[0]
        uid, first, *_ = found.splitlines()
        assert (int(uid), first) == (account.uid, content)
        assert "xyzzy" not in found  # of the gateway
        others = {users.alice.name, users.bob.name} - {account.name}
        assert not [name for name in others if f"SPARK_USER={name}" in found]
    (answer,) = gateway.ask(users.bob.name, f"!read {path}")
    assert "FAILED_READ_FILE" in answer or "Permission denied" in answer, answer  # by version of Spark


@pytest.mark.timeout(900)
def test_bob_cannot_use_the_session_of_alice(users: Users) -> None:
    gateway, alice, bob = users.connect(), users.alice.name, users.bob.name
    session = "00112233-4455-6677-8899-aabbccddeeff"
    assert gateway.ask(alice, "CREATE TEMPORARY VIEW own AS SELECT 5 AS id", "!keep", options=f";session_id={session}")
    for options in (f";session_id={session}", f";session_id={session};user_id={alice}"):
        answers = gateway.ask(bob, "SELECT * FROM own", "SELECT current_user()", options=options)
        assert HIDDEN in answers[0]
        assert answers[1] == [[bob]]
    assert gateway.ask(alice, "SELECT * FROM own", options=f";session_id={session}") == [[[5]]]


@pytest.mark.timeout(900)
def test_other_credentials_and_accounts_are_rejected(users: Users) -> None:
    ask = users.gateway.beeline
    assert "root is a system account (user id 0)" in ask("root", password_of("root"), "SELECT 1")
    assert "does not start: setpriv: " in ask(STRANGER, password_of(STRANGER), "SELECT 1")
    assert "unknown or the password is wrong" in ask(users.alice.name, "wrong", "SELECT 1")
    if users.gateway.connect is not None:
        (answer,) = users.gateway.ask(users.bob.name, "SELECT 1", password=password_of(users.alice.name))
        assert answer.startswith("UNAUTHENTICATED"), answer


@pytest.mark.timeout(900)
def test_everything_listens_on_loopback(users: Users) -> None:
    processes = psutil.Process(users.gateway.process.pid).children(recursive=True)
    assert len([process for process in processes if process.name() == "java"]) == 2
    open_ = [
        each.laddr.ip
        for process in (psutil.Process(users.gateway.process.pid), *processes)
        for each in process.net_connections()
        if not each.raddr
    ]
    assert {address.removeprefix("::ffff:") for address in open_} == {"127.0.0.1"}


@pytest.mark.timeout(900)
def test_a_driver_ends_with_its_java(users: Users) -> None:
    driver, java = users.driver(users.bob)
    driver.parent().send_signal(signal.SIGSTOP)  # the gateway cannot end the driver
    try:
        java.kill()
        while driver.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.1)
    finally:
        driver.parent().send_signal(signal.SIGCONT)
    answer = users.ask(users.bob, f"SELECT concat('result ', id) FROM {users.bob.name}.by_jdbc")
    assert "result 11" in answer, answer


@pytest.mark.timeout(900)
def test_a_removed_user_loses_the_driver(users: Users) -> None:
    _, java = users.driver(users.bob)
    users.passwords.remove(users.bob.name)
    psutil.wait_procs([java], timeout=240)
    assert not java.is_running()
    assert "unknown or the password is wrong" in users.ask(users.bob, "SELECT 1")
    answer = users.ask(users.alice, f"SELECT concat('result ', max(id)) FROM {users.alice.name}.by_jdbc")
    assert "result 11" in answer, answer
    assert not [
        path for path in Path(tempfile.gettempdir()).glob("spark-driver-*") if path.stat().st_uid == users.bob.uid
    ]
