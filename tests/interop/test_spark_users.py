"""Two users of one `metastore spark serve`, on a metastore with passwords and grants: each acts with the own rights."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyspark
import pytest

from metastore.client import Credentials, connect
from metastore.security.passwords import PasswordFile
from tests.fixtures.real_hive import free_port
from tests.fixtures.server import Server
from tests.fixtures.spark_servers import SMALL
from tests.fixtures.sparks import python_of_client
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType

CLIENT = Path(__file__).with_name("spark_users_client.py")
HIDDEN = "TABLE_OR_VIEW_NOT_FOUND"
REJECTED = "is not available on a server for several users"


@dataclass
class Gateway:
    """A running `metastore spark serve`, and its metastore."""

    process: subprocess.Popen[str]
    connect: int
    thrift: int
    metastore: Server
    log: Path

    def ask(self, user: str, *texts: str, password: str = "", options: str = "") -> list[Any]:
        """Runs statements and `!attempts` of the client. Returns rows, or the text of an error."""
        token = f"{user}:{password or password_of(user)}"
        remote = f"sc://localhost:{self.connect}/;token={token}{options}"
        command = [python_of_client(), "-W", "ignore", "-P", str(CLIENT), remote, json.dumps(texts)]
        environment = {**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent)}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr[-4000:]
        answers: list[Any] = json.loads(ran.stdout.splitlines()[-1])
        return answers


def password_of(user: str) -> str:
    return f"password-of-{user}"


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> PasswordFile:
    file = PasswordFile(tmp_path_factory.mktemp("users") / "users")
    for name in ("admin", "alice", "bob"):
        file.add(name, password_of(name))
    return file


@pytest.fixture(scope="module")
def gateway(
    start: Callable[..., Server], users: PasswordFile, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    options = ["--authentication", "password", "--password-file", str(users._path), "--authorization", "grants"]
    server = start(*options, "--admins", "admin", "--allow-password-without-tls", "true")
    admin = Credentials(user="admin", password=password_of("admin"))
    with connect(f"thrift://localhost:{server.port}", credentials=admin) as client:
        for user in ("alice", "bob"):
            client.methods.create_database(Database(name=user, ownerName=user, ownerType=PrincipalType.USER))
    folder = tmp_path_factory.mktemp("gateway")
    ports = free_port(), free_port()
    arguments = ["--uri", f"thrift://localhost:{server.port}", "--connect", str(ports[0]), "--thrift", str(ports[1])]
    arguments += ["--master", "local[2]", *(f"--conf={text}" for text in SMALL)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "metastore.cli", "spark", "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("spark is ready on sc://127.0.0.1:"), (folder / "log").read_text()
    yield Gateway(process, *ports, server, folder / "log")
    process.send_signal(signal.SIGTERM)
    process.stdout.close()
    assert process.wait(90) == 0


@pytest.mark.timeout(900)
def test_alice_works_with_her_tables(gateway: Gateway) -> None:
    answers = gateway.ask(
        "alice",
        "CREATE TABLE alice.t (id INT, x STRING) PARTITIONED BY (d STRING) SKEWED BY (x) ON ('a') "
        "STORED AS DIRECTORIES STORED AS PARQUET",
        "INSERT INTO alice.t VALUES (1, 'a', '1'), (2, 'b', '2')",
        "INSERT OVERWRITE TABLE alice.t PARTITION (d = '2') VALUES (3, 'c')",
        "CREATE TABLE alice.plain USING parquet AS SELECT 7 AS id",
        "CACHE TABLE alice.plain",
        "CREATE GLOBAL TEMPORARY VIEW seen AS SELECT * FROM alice.t",
        "SELECT current_user(), id, x FROM alice.t ORDER BY id",
        "SELECT * FROM global_temp.seen WHERE id = 1",
        "SELECT count(*) FROM alice.plain",
        "!udf",
        "SHOW DATABASES",
    )
    assert answers[6:] == [
        [["alice", 1, "a"], ["alice", 3, "c"]],
        [[1, "a", "1"]],
        [[1]],
        [[2]],
        [["alice"], ["default"]],
    ], answers


@pytest.mark.timeout(900)
def test_bob_sees_nothing_of_alice(gateway: Gateway) -> None:
    location = f"{warehouse(gateway)}/alice.db/plain"
    assert list(Path(location).iterdir())
    answers = gateway.ask(
        "bob",
        "SHOW DATABASES",
        "SELECT * FROM alice.t",
        "SELECT * FROM alice.nosuch",
        "SELECT * FROM global_temp.seen",
        "DROP TABLE alice.t",
        f"SELECT * FROM parquet.`{location}`",
        f"SELECT nosuch FROM parquet.`{location}`",
        f"CREATE TABLE bob.stolen USING parquet LOCATION '{location}'",
        f"CREATE TEMPORARY VIEW stolen USING parquet OPTIONS (path '{location}')",
        f"LOAD DATA INPATH '{location}' INTO TABLE bob.mine",
        f"SHOW SCANS OF SELECT * FROM parquet.`{location}`",
        f"!read {location}",
        f"!write {location}",
        f"!udf-read {location}",
        "!udf-memory",
        "!jar",
        "!setting",
        "SELECT reflect('java.lang.System', 'getenv', 'METASTORE_CLIENT_TOKEN')",
        "CREATE TABLE bob.mine AS SELECT current_user() AS name",
        "SELECT * FROM bob.mine",
    )
    assert answers[0] == [["bob"], ["default"]]
    hidden = [re.sub("nosuch|stolen|seen|`t`", "…", answer) for answer in answers[1:4]]
    assert all(HIDDEN in text for text in hidden), hidden
    assert answers[1].replace("`t`", "`nosuch`").replace("[alice, t]", "[alice, nosuch]") == answers[2]
    assert HIDDEN in answers[4]
    assert [REJECTED in text for text in answers[5:7]] == [True, True], answers[5:7]
    assert "PERMISSION" in answers[7].upper(), answers[7]
    assert [REJECTED in text for text in answers[8:13]] == [True] * 5, answers[8:13]
    assert answers[13:15] == [[["PermissionError"]], [["no process of others"]]]
    assert all(REJECTED in text for text in answers[15:18]), answers[15:18]
    assert answers[19] == [["bob"]]


@pytest.mark.timeout(900)
def test_a_table_cannot_be_saved_over_files_of_others(gateway: Gateway) -> None:
    directory = Path(f"{warehouse(gateway)}/alice.db/plain")
    before = sorted(directory.iterdir())
    (answer,) = gateway.ask("bob", f"!save-as {directory}")
    assert isinstance(answer, str), answer  # an error
    assert sorted(directory.iterdir()) == before
    assert gateway.ask("alice", "SELECT id FROM alice.plain") == [[[7]]]


@pytest.mark.timeout(900)
def test_bob_cannot_use_the_session_of_alice(gateway: Gateway) -> None:
    session = "00112233-4455-6677-8899-aabbccddeeff"
    assert gateway.ask(
        "alice", "CREATE TEMPORARY VIEW own AS SELECT 5 AS id", "!keep", options=f";session_id={session}"
    )
    for options in (f";session_id={session}", f";session_id={session};user_id=alice"):
        answers = gateway.ask("bob", "SELECT * FROM own", "SELECT current_user()", options=options)
        assert HIDDEN in answers[0]
        assert answers[1] == [["bob"]]
    assert gateway.ask("alice", "SELECT * FROM own", options=f";session_id={session}") == [[[5]]]


@pytest.mark.timeout(900)
def test_other_credentials_are_rejected(gateway: Gateway) -> None:
    assert gateway.ask("bob", "SELECT 1", password=password_of("alice"))[0].startswith("UNAUTHENTICATED")
    assert gateway.ask("nobody", "SELECT 1")[0].startswith("UNAUTHENTICATED")


@pytest.mark.timeout(900)
def test_jdbc_statements_run_as_the_user(gateway: Gateway) -> None:
    said = {user: beeline(gateway, user, password_of(user)) for user in ("alice", "bob")}
    assert "> alice\n" in said["alice"], said["alice"]  # after beeline's prompt
    assert "> 3\n" in said["alice"], said["alice"]
    assert "> bob\n" in said["bob"], said["bob"]
    assert HIDDEN in said["bob"]
    assert "unknown or the password is wrong" in beeline(gateway, "alice", "wrong")


def beeline(gateway: Gateway, user: str, password: str) -> str:
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    java = str(Path(os.environ["JAVA_HOME"]) / "bin/java") if "JAVA_HOME" in os.environ else "java"
    command = [java, "-cp", str(jars), "org.apache.hive.beeline.BeeLine", "--outputformat=tsv2", "--showHeader=false"]
    command += ["-u", f"jdbc:hive2://127.0.0.1:{gateway.thrift}", "-n", user, "-p", password]
    for statement in ("SELECT current_user()", "SELECT max(id) FROM alice.t"):
        command += ["-e", statement]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr


@pytest.mark.timeout(900)
def test_everything_listens_on_loopback(gateway: Gateway) -> None:
    processes = psutil.Process(gateway.process.pid).children(recursive=True)
    assert len([process for process in processes if process.name() == "java"]) == 2
    open_ = [
        each.laddr.ip
        for process in (psutil.Process(gateway.process.pid), *processes)
        for each in process.net_connections()
        if not each.raddr
    ]
    assert {address.removeprefix("::ffff:") for address in open_} == {"127.0.0.1"}


@pytest.mark.timeout(900)
def test_the_metastore_logs_the_users(gateway: Gateway) -> None:
    log = gateway.metastore.log.read_text()
    assert " alice create_table" in log
    assert " bob create_table" in log


@pytest.mark.timeout(900)
def test_a_removed_user_loses_the_driver(gateway: Gateway, users: PasswordFile) -> None:
    users.remove("bob")
    java = [
        process
        for process in psutil.Process(gateway.process.pid).children(recursive=True)
        if process.name() == "java" and process.environ().get("SPARK_USER") == "bob"
    ]
    assert len(java) == 1
    psutil.wait_procs(java, timeout=240)
    assert not java[0].is_running()
    assert gateway.ask("bob", "SELECT 1")[0].startswith("UNAUTHENTICATED")
    assert gateway.ask("alice", "SELECT max(id) FROM alice.t") == [[[3]]]


def warehouse(gateway: Gateway) -> str:
    admin = Credentials(user="admin", password=password_of("admin"))
    with connect(f"thrift://localhost:{gateway.metastore.port}", credentials=admin) as client:
        return str(client.get_database("default").location).removeprefix("file:")
