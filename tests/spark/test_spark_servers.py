"""Spark Connect and JDBC: each statement of a client that has nothing of this library, and each of them once."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import psutil
import pyspark
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from metastore.client.structs import Rename
from spark_client.errors import SessionError
from spark_client.jvm.servers import start_connect, start_thrift
from spark_client.serve import serve
from tests.fixtures.server import Server
from tests.fixtures.spark_servers import IS_SPARK_4, Servers, connect_settings, serving
from tests.fixtures.sparks import python_of_client
from tests.spark.since import since
from tests.wire.builders import unique

ROOT = Path(__file__).parents[2]
PROMPT = re.compile(r"^(?:0: \S+> )+")


TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def servers(metastore_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Both servers. Spark Connect asks for a token where it can."""
    folder = tmp_path_factory.mktemp("servers")
    (token := folder / "token").touch(mode=0o600)
    token.write_text(TOKEN + "\n")
    options = ["--connect-token-file", str(token)] if IS_SPARK_4 else []
    with serving(metastore_server.uri, folder, options=options) as served:
        yield served


@pytest.fixture
def remote(servers: Servers) -> str:
    """The address of Spark Connect. Clients send tokens without TLS only to localhost."""
    return f"{servers.connect.replace('127.0.0.1', 'localhost')}/;token={TOKEN}" if IS_SPARK_4 else servers.connect


def test_its_first_line_has_the_addresses(servers: Servers, metastore_server: Server) -> None:
    assert servers.line == f"spark is ready on {servers.connect}, {servers.thrift}, metastore {metastore_server.uri}\n"


# Prints the answer, or the status of the error. Then it ends at once: clients without access retry while they close.
ASKING = """
import os, sys
from pyspark.sql import SparkSession

try:
    spark = SparkSession.builder.remote(sys.argv[1]).create()
    print(spark.sql("SELECT 7").collect()[0][0], spark.conf.get("spark.connect.authenticate.token", "hidden"))
except Exception as error:
    print("UNAUTHENTICATED" if "UNAUTHENTICATED" in str(error) else error)
sys.stdout.flush()
os._exit(0)
"""


@since("4.0", "tokens of Spark Connect")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_connect_asks_for_the_token(servers: Servers, remote: str, tmp_path: Path) -> None:
    environment = {**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent)}

    def answer(address: str) -> str:
        command = [python_of_client(), "-P", "-c", ASKING, address]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return ran.stdout.strip() or ran.stderr[-2000:]

    address = remote.partition("/;")[0]
    assert answer(address) == "UNAUTHENTICATED"
    assert answer(f"{address}/;token=wrong") == "UNAUTHENTICATED"
    assert answer(remote) == "7 hidden"


@pytest.mark.slow
def test_spark_has_a_secret_and_does_not_impersonate(servers: Servers) -> None:
    rows, said = beeline(servers, "SET spark.authenticate", "SET hive.server2.enable.doAs")
    assert rows == [["spark.authenticate", "true"], ["hive.server2.enable.doAs", "false"]], said


def test_the_servers_listen_on_loopback_only(servers: Servers) -> None:
    every = psutil.Process(servers.process.pid).children(recursive=True)
    open_ = {
        each.laddr.port: each.laddr.ip for process in every for each in process.net_connections() if not each.raddr
    }
    ports = {int(address.rpartition(":")[2]) for address in (servers.connect, servers.thrift)}
    assert ports < open_.keys()  # RPC and block manager listen, too
    assert {address.removeprefix("::ffff:") for address in open_.values()} == {"127.0.0.1"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_client_of_spark_connect(remote: str, tmp_path: Path) -> None:
    table, script = unique("connect"), ROOT / "tests/spark/connect_client.py"
    command = [python_of_client(), "-P", str(script), remote, table]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    seen = json.loads(ran.stdout.splitlines()[-1])
    assert seen["installed"] == ([] if IS_SPARK_4 else ["py4j"])  # the only client that Spark 3.5 has
    once = dict.fromkeys(["collect", "show", "count", "toPandas", "count, toPandas", "nothing", "insertInto"], 1)
    assert seen["written"] == {**once, "8": 7, "9": 7}
    assert seen["columns"][:3] == ["partition", "directory", "files_before"]
    assert seen["truncated"] == [[0]]
    assert seen["explained"] == [f"default.{table}: 1 of 9 partitions"]
    assert seen["scans"] == [1, 9]
    assert seen["skew"] == ["x", "a"]
    assert seen.get("script") == ([[7]] if IS_SPARK_4 else None)
    assert seen["created"] is False
    assert seen["error"].splitlines()[0].startswith("[Error 10203]: Invalid skewed column name: nowhere")
    assert len(seen["error"].splitlines()) == 1
    assert seen["apart"] == [False, "none", True]


@since("4.0", "pyspark-client")
def test_the_import_without_a_driver_names_the_fix() -> None:
    python = python_of_client()
    command = [python, "-c", "import spark_client"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert re.match(r"ImportError: spark_client needs PySpark .*`metastore spark serve", ran.stderr.splitlines()[-1])


def beeline(servers: Servers, *statements: str) -> tuple[list[list[str]], str]:
    """Rows of all statements, without their heads, and what it said."""
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    java = str(Path(os.environ["JAVA_HOME"]) / "bin/java") if "JAVA_HOME" in os.environ else "java"
    command = [java, "-cp", str(jars), "org.apache.hive.beeline.BeeLine", "-u", servers.thrift, "--outputformat=tsv2"]
    command += [
        "--showHeader=false",
        "--silent=true",
        *(part for statement in statements for part in ("-e", statement)),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [PROMPT.sub("", line) for line in ran.stdout.splitlines()]
    return [line.split("\t") for line in lines if line], ran.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_client_of_jdbc(servers: Servers) -> None:
    table = unique("jdbc")
    rows, said = beeline(
        servers,
        f"CREATE TABLE {table} (id INT, x STRING) SKEWED BY (x) ON ('a') STORED AS DIRECTORIES STORED AS ORC",
        f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')",
        f"INSERT INTO {table} VALUES (3, 'a')",
        f"SELECT id FROM {table} WHERE x = 'a' ORDER BY id",
        f"ALTER TABLE {table} CONCATENATE",
    )
    assert rows[:2] == [["1"], ["3"]], said
    assert ["", "x=a", "2", "1"] in [[*row[:3], row[4]] for row in rows[2:]], rows
    _, said = beeline(servers, f"ALTER TABLE {table} SKEWED BY (nowhere) ON (1)")
    assert "[Error 10203]: Invalid skewed column name: nowhere" in said


CONFLICT = """
import sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).create()
try:
    spark.sql(sys.argv[2]).collect()
except PySparkException as error:
    condition = error.getErrorClass() if spark.version < "4" else error.getCondition()
    print(condition, error.getSqlState(), error)
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_conflict_has_its_condition_and_sqlstate(
    servers: Servers, remote: str, metastore: MetastoreClient, tmp_path: Path
) -> None:
    """Another write has registered that it renames the partition's directory, and is still open."""
    name = unique("conflict")
    beeline(
        servers,
        f"CREATE TABLE {name} (id INT) PARTITIONED BY (ds INT) TBLPROPERTIES ('write.mode' = 'in-place')",
        f"INSERT INTO {name} VALUES (1, 1)",
    )
    (partition,) = metastore.get_partitions("default", name)
    lease, path = metastore.begin_write("default", name, 600), str(partition.location)
    metastore.renew_write(lease.query_id, renames=[Rename(path, f"{path}_{lease.query_id}")])
    statement = f"INSERT OVERWRITE TABLE {name} PARTITION (ds = 1) SELECT 2"
    _, said = beeline(servers, statement)
    assert "[WRITE_CONFLICT]" in said
    assert "state=40001" in said
    script = tmp_path / "conflict.py"
    script.write_text(CONFLICT)
    command = [python_of_client(), "-P", str(script), remote, statement]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    fields = ["WRITE_CONFLICT", "40001"] if IS_SPARK_4 else ["None", "None"]  # the client of 3.5 has the text only
    assert ran.stdout.split()[:3] == [*fields, "[WRITE_CONFLICT]"], ran.stdout
    assert "SQLSTATE: 40001" in ran.stdout
    metastore.end_write(lease.query_id)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_program_that_is_submitted_to_a_worker(metastore_server: Server, tmp_path: Path) -> None:
    """Executors are other processes, which know nothing of the library."""
    submit = Path(pyspark.__file__).parent / "bin/spark-submit"
    command = [str(submit), "--master", "local-cluster[1,2,1024]", "--driver-memory", "1g"]
    command += ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]
    command += [str(ROOT / "tests/spark/submitted.py"), metastore_server.uri, unique("submitted")]
    python = {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    environment = {**os.environ, **python, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-4000:]
    seen = json.loads(ran.stdout.splitlines()[-1])
    assert seen == {
        "master": "local-cluster[1,2,1024]",
        "rows": 10,
        "all": 60,
        "files": 1,
        "bucket": 1,
        "joined": 1800,
        "by bucket": 60,
        "merged": True,
        "problems": [],
    }


def test_nothing_to_serve_is_one_line() -> None:
    with pytest.raises(SessionError, match=r"^nothing to serve: pass connect=15002 .*, thrift=10000 "):
        serve("thrift://127.0.0.1:1")
    with pytest.raises(SessionError, match="cannot share port 7"):
        serve("thrift://127.0.0.1:1", connect=7, thrift=7)


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SessionError, match=rf"^cannot listen on 127.0.0.1:{port}: Address already in use; choose "):
            serve("thrift://127.0.0.1:1", thrift=port)


@pytest.mark.parametrize("host", ["nosuch.invalid", "192.0.2.1", "a..b"])
def test_a_host_that_is_not_this_machine_s_is_one_line(host: str) -> None:
    with pytest.raises(SessionError, match=rf"^cannot listen on {host}:0: .*; use a name or address of this "):
        serve("thrift://127.0.0.1:1", connect=0, host=host)


# A second server that was looking for free ports when the first was, too; and what becomes of it then.
SECOND = """
import sys
from importlib import import_module
from spark_client.errors import SessionError

module = import_module("spark_client.serve")
module.servers.check_free = lambda host, port: None
uri, connect, thrift, *conf = sys.argv[1:]
settings = {"spark.ui.enabled": False, **dict(pair.split("=") for pair in conf)}
for servers in ({"connect": int(connect)}, {"thrift": int(thrift)}):
    try:
        module.serve(uri, **servers, master="local[1]", conf=settings)
    except SessionError as error:
        print(error)
"""


@pytest.mark.long
def test_a_second_server_on_one_port_fails_in_one_line(
    servers: Servers, metastore_server: Server, tmp_path: Path
) -> None:
    ports = [address.rpartition(":")[2] for address in (servers.connect, servers.thrift)]
    command = [sys.executable, "-W", "ignore", "-c", SECOND, metastore_server.uri, *ports, *connect_settings()]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    taken = "cannot listen on 127.0.0.1:{}: Address already in use; choose another port"
    assert ran.stdout.splitlines() == [taken.format(port) for port in ports]


def test_a_signal_that_has_ended_java_before_ends_the_doors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the stop of a service does, which tells all of its processes."""
    command = import_module("spark_client.commands.serve")

    class Ended:
        connect, thrift = "sc://here:1", None

        def stop(self) -> None:
            raise Py4JNetworkError("Error while sending or receiving")

    def served(*_: object, **__: object) -> Ended:
        signal.raise_signal(signal.SIGTERM)
        return Ended()

    monkeypatch.setattr(command, "serve", served)
    before = [(each, signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert command.main(["--uri", "thrift://127.0.0.1:1", "--connect", "1"]) == 0
    finally:
        for each, handler in before:
            signal.signal(each, handler)


def test_missing_jars_are_one_line(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("spark_client.jvm.servers")
    for name, start in (("_CONNECT", start_connect), ("_THRIFT", start_thrift)):
        monkeypatch.setattr(module, name, "org.nowhere.Server")
        with pytest.raises(SessionError, match=r"^[^\n]* needs [^\n]*spark-(connect|hive-thriftserver)_2[^\n]*Server$"):
            start(spark, "127.0.0.1", 1)
