"""Two users of one `metastore spark serve`, on a metastore with passwords and grants: each acts with the own rights.

With every version of Spark. Spark Connect of Spark 3.5 cannot authenticate; there, clients come by JDBC only.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from metastore.client import Credentials, connect
from metastore.security.passwords import PasswordFile
from spark_client.jvm.versions import TESTED
from tests.fixtures.server import running
from tests.interop.spark_gateway import Gateway, command, password_of, serving
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType

HIDDEN = "TABLE_OR_VIEW_NOT_FOUND"
HIVE = "org.apache.hadoop.hive.ql.io"
REJECTED = "is not available on a server for several users"


@pytest.fixture(scope="module", params=TESTED)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory, version: str) -> PasswordFile:
    file = PasswordFile(tmp_path_factory.mktemp(f"users-{version}") / "users")
    for name in ("admin", "alice", "bob"):
        file.add(name, password_of(name))
    return file


@pytest.fixture(scope="module")
def any_gateway(
    version: str, make_database: Callable[[], str], users: PasswordFile, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    options = ["--authentication", "password", "--password-file", str(users._path), "--authorization", "grants"]
    options += ["--admins", "admin", "--allow-password-without-tls", "true"]
    folder = tmp_path_factory.mktemp(f"gateway-{version}")
    with running(make_database(), tmp_path_factory.mktemp(f"metastore-{version}"), *options) as server:
        admin = Credentials(user="admin", password=password_of("admin"))
        with connect(f"thrift://localhost:{server.port}", credentials=admin) as client:
            for user in ("alice", "bob"):
                client.methods.create_database(Database(name=user, ownerName=user, ownerType=PrincipalType.USER))
        with serving(
            version,
            server,
            folder,
            connect=version != "3.5",
            options=["--conf=spark.hadoop.fs.s3a.secret.key=xyzzy-setting"],
            variables={"AWS_SECRET_ACCESS_KEY": "xyzzy-variable"},
        ) as gateway:
            yield gateway


@pytest.fixture
def gateway(any_gateway: Gateway) -> Gateway:
    """A gateway with Spark Connect."""
    if any_gateway.connect is None:
        pytest.skip(f"Spark Connect of Spark {any_gateway.spark} cannot authenticate")
    return any_gateway


def test_spark_connect_of_spark_3_is_rejected(version: str) -> None:
    if version != "3.5":
        pytest.skip("Spark Connect can authenticate")
    arguments = ("--uri", "thrift://127.0.0.1:1", "--share-level", "user", "--connect", "15002")
    ran = subprocess.run(command(version, *arguments), capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert re.fullmatch(r"metastore: Spark Connect of Spark 3\.5\.\d cannot authenticate: [^\n]*--thrift\n", ran.stderr)


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
        f"CREATE TABLE bob.stolen (id INT) USING parquet LOCATION '{location}'",
        f"CREATE TEMPORARY VIEW stolen USING parquet OPTIONS (path '{location}')",
        f"LOAD DATA INPATH '{location}' INTO TABLE bob.mine",
        f"SHOW SCANS OF SELECT * FROM parquet.`{location}`",
        f"!read {location}",
        f"!write {location}",
        f"!udf-read {location}",
        "!udf-memory",
        "!jar",
        "!setting spark.sql.catalog.other org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "SELECT reflect('java.lang.System', 'getenv', 'METASTORE_CLIENT_TOKEN')",
        "CREATE TABLE bob.mine AS SELECT current_user() AS name",
        "SELECT * FROM bob.mine",
        "CREATE TABLE bob.paths (line STRING) STORED AS TEXTFILE",
        f"INSERT INTO bob.paths VALUES ('file:{location}')",
        f"CREATE EXTERNAL TABLE bob.links (line STRING) STORED AS INPUTFORMAT '{HIVE}.SymlinkTextInputFormat' "
        f"OUTPUTFORMAT '{HIVE}.HiveIgnoreKeyTextOutputFormat' LOCATION '{warehouse(gateway)}/bob.db/paths'",
        "SELECT * FROM bob.links",
        f"CREATE TABLE bob.stolen USING parquet LOCATION '{location}'",
        f"CREATE TABLE bob.stolen USING parquet LOCATION '{location}-nosuch'",
        "!java-object",
        "!setting spark.sql.optimizer.excludedRules spark_client.core.CheckReads",
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
    assert [isinstance(answer, str) for answer in answers[20:24]] == [False, False, True, True], answers[20:]
    assert all(REJECTED in text for text in (*answers[24:26], answers[27])), answers[24:]
    assert re.search("Failed to unpack|filter status: REJECTED", answers[26]), answers[26]  # by version of Spark
    assert "HashMap" not in answers[26], answers[26]


@pytest.mark.timeout(900)
def test_settings_and_options_lead_to_no_other_files(gateway: Gateway) -> None:
    location = Path(f"{warehouse(gateway)}/alice.db/plain")
    before = sorted(location.iterdir())
    option = f"WITH ('PATH'='{location}', a='1', b='2', c='3', d='4', e='5', recursiveFileLookup='true')"
    xsd = f"map('rowValidationXSDPath', '{before[0]}')"
    analyzer = "spark.sql.analyzer.singlePassResolver.enabled"  # Spark's second analyzer, which runs no injected rules
    answers = gateway.ask(
        "bob",
        "CREATE TABLE bob.lines (line STRING) USING text",
        "CREATE TABLE bob.numbers (id INT) USING parquet",
        f"SET {analyzer}=true",
        f"!conf-set {analyzer}",
        "!conf-set spark.sql.optimizer.excludedRules",
        f"SELECT * FROM parquet.`{location}`",
        f"SELECT * FROM bob.numbers {option}",
        f"SELECT * FROM bob.lines {option}",
        f"INSERT INTO bob.lines {option} VALUES ('x')",
        f"SELECT from_xml('<a>1</a>', 'a INT', {xsd})",
        "!conf-set fs.file.impl.disable.cache",
        "!conf-set parquet.private.read.filter.predicate",
        "SET orc.kryo.sarg=AAAA",
        "ALTER TABLE bob.numbers SET TBLPROPERTIES ('parquet.private.read.filter.predicate' = 'AAAA')",
        f"CREATE TABLE bob.schema (id INT) STORED AS AVRO TBLPROPERTIES ('avro.schema.url' = '{before[0]}')",
        f"ALTER TABLE bob.lines SET SERDEPROPERTIES ('avro.schema.url' = '{before[0]}')",
        "CREATE TABLE bob.of_database LIKE bob.numbers USING jdbc",
        "!write-other",
    )
    assert answers[:2] == [[], []]
    assert sorted(location.iterdir()) == before
    (rejected, inserted, relative, taken, free) = gateway.ask(
        "bob",
        f"SELECT * FROM bob.lines {option}",
        "INSERT INTO bob.lines VALUES ('x')",  # not into the rejected relation, which Spark caches
        "SELECT * FROM text.`..`",
        f"CREATE TABLE bob.taken STORED AS PARQUET LOCATION '{location}' AS SELECT 1 AS id",
        f"CREATE TABLE bob.taken STORED AS PARQUET LOCATION '{location}-nosuch' AS SELECT 1 AS id",
    )
    assert REJECTED in rejected, rejected
    assert inserted == [], inserted
    assert HIDDEN in relative, relative
    assert "PERMISSION" in taken.upper(), taken
    assert taken == free.replace("-nosuch", "")
    assert REJECTED in answers[8] or answers[8] == []  # Spark 4.0 and 4.1 may write to the own table
    assert [answer for answer in answers[2:8] + answers[9:] if REJECTED not in answer] == []
    url = gateway.beeline("bob", password_of("bob"), "SELECT 1", settings=[f"{analyzer}=true"])
    assert REJECTED in url or "Failed to open new session" in url, url


@pytest.mark.timeout(900)
def test_credentials_of_the_storage_are_hidden(gateway: Gateway) -> None:
    variables = ("${env:AWS_SECRET_ACCESS_KEY}", "${spark.hadoop.fs.s3a.secret.key}")
    attempts = (
        *(f"SELECT '{variable}'" for variable in variables),
        *(f"SELEC '{variable}'" for variable in variables),
        *(f"!expression '{variable}'" for variable in variables),
        *(f"!setting-variable {variable}" for variable in variables),
        "!conf spark.hadoop.fs.s3a.secret.key",
        "!conf fs.s3a.secret.key",
        "SET",
        "SET -v",
        "SET spark.hadoop.fs.s3a.secret.key",
        "!udf-environment",
    )
    answers = gateway.ask("bob", *attempts)
    assert [attempt for attempt, answer in zip(attempts, answers, strict=True) if "xyzzy-" in str(answer)] == []
    assert [REJECTED in answer for answer in answers[:8]] == [True] * 8, answers


@pytest.mark.timeout(900)
def test_credentials_of_the_storage_are_hidden_from_jdbc(any_gateway: Gateway) -> None:
    statements = ("SELECT '${env:AWS_SECRET_ACCESS_KEY}'", "SELECT '${spark.hadoop.fs.s3a.secret.key}'", "SET")
    for statement in statements:
        assert "xyzzy-" not in any_gateway.beeline("bob", password_of("bob"), statement)


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
def test_jdbc_statements_run_as_the_user(any_gateway: Gateway) -> None:
    ask = any_gateway.beeline
    location = f"{warehouse(any_gateway)}/alice.db/by_jdbc"
    alice = ask(
        *("alice", password_of("alice")),
        "CREATE TABLE alice.by_jdbc USING parquet AS SELECT 11 AS id, current_user() AS name",
        "CREATE GLOBAL TEMPORARY VIEW seen_by_jdbc AS SELECT * FROM alice.by_jdbc",
        "SELECT concat('result ', id, name) FROM global_temp.seen_by_jdbc",
    )
    assert "result 11alice" in alice, alice
    assert list(Path(location).iterdir())
    rejected = (
        f"SELECT * FROM parquet.`{location}`",
        f"CREATE TEMPORARY VIEW stolen USING parquet OPTIONS (path '{location}')",
        "SELECT reflect('java.lang.System', 'getenv', 'METASTORE_CLIENT_TOKEN')",
        "ADD JAR /tmp/a.jar",
        f"INSERT OVERWRITE DIRECTORY '{location}' USING parquet SELECT 1",
    )
    for statement in rejected:
        bob = ask("bob", password_of("bob"), statement)
        assert REJECTED in bob, bob
    for table in ("alice.by_jdbc", "global_temp.seen_by_jdbc"):
        bob = ask("bob", password_of("bob"), f"SELECT concat('result ', id, name) FROM {table}")
        assert HIDDEN in bob, bob
        assert "result 11" not in bob, bob
    bob = ask("bob", password_of("bob"), f"CREATE TABLE bob.stolen (id INT) USING parquet LOCATION '{location}'")
    assert "PERMISSION" in bob.upper(), bob
    own = ("CREATE TABLE bob.by_jdbc USING parquet AS SELECT current_user() AS name", "SELECT * FROM bob.by_jdbc")
    assert "> bob\n" in ask("bob", password_of("bob"), *own)  # after beeline's prompt
    assert "unknown or the password is wrong" in ask("alice", "wrong", "SELECT 1")


@pytest.mark.timeout(900)
def test_variables_in_settings_and_properties_are_not_replaced(any_gateway: Gateway) -> None:
    x = "x=${env:AWS_SECRET_ACCESS_KEY}"
    for settings in (x, f"hive.variable.substitute=true {x}", "hive.metastore.uris=thrift://127.0.0.1:1"):
        answer = any_gateway.beeline("bob", password_of("bob"), "SET x", settings=settings.split())
        assert "Failed to open new session" in answer, answer
        assert "xyzzy" not in answer, answer
    bob = Credentials(user="bob", password=password_of("bob"))
    for name, value in (
        ("mapreduce.input.linerecordreader.line.maxlength", "${env.AWS_SECRET_ACCESS_KEY}"),
        ("any", "${fs.s3a.secret.key}"),
        ("fs.file.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"),
    ):
        with connect(f"thrift://localhost:{any_gateway.metastore.port}", credentials=bob) as client:
            table = client.methods.get_table("bob", "by_jdbc")
            table.tableName, table.sd.location, table.parameters = "variables", None, {name: value}
            client.methods.create_table(table)
            answer = any_gateway.beeline("bob", password_of("bob"), "SELECT * FROM bob.variables")
            client.methods.drop_table("bob", "variables", True)
        assert REJECTED in answer, answer
        assert "xyzzy" not in answer, answer


@pytest.mark.timeout(900)
def test_a_view_brings_no_catalog(any_gateway: Gateway) -> None:
    any_gateway.beeline("bob", password_of("bob"), "CREATE VIEW bob.one AS SELECT 1 AS id")
    bob = Credentials(user="bob", password=password_of("bob"))
    with connect(f"thrift://localhost:{any_gateway.metastore.port}", credentials=bob) as client:
        view = client.methods.get_table("bob", "one")
        view.tableName, view.viewOriginalText, view.viewExpandedText = "other", *["SELECT * FROM other.a.b"] * 2
        catalog = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
        view.parameters["view.sqlConfig.spark.sql.catalog.other"] = catalog
        client.methods.create_table(view)
    answer = any_gateway.beeline("bob", password_of("bob"), "SELECT * FROM bob.other")
    if any_gateway.spark != "3.5":  # where rules run only after names are resolved: a driver is missing
        assert REJECTED in answer, answer
    assert "> 1\n" in any_gateway.beeline("bob", password_of("bob"), "SELECT id FROM bob.one")


@pytest.mark.timeout(900)
def test_everything_listens_on_loopback(any_gateway: Gateway) -> None:
    processes = psutil.Process(any_gateway.process.pid).children(recursive=True)
    assert len([process for process in processes if process.name() == "java"]) == 2
    open_ = [
        each.laddr.ip
        for process in (psutil.Process(any_gateway.process.pid), *processes)
        for each in process.net_connections()
        if not each.raddr
    ]
    assert {address.removeprefix("::ffff:") for address in open_} == {"127.0.0.1"}


@pytest.mark.timeout(900)
def test_the_metastore_logs_the_users(any_gateway: Gateway) -> None:
    log = any_gateway.metastore.log.read_text()
    assert " alice create_table" in log
    assert " bob create_table" in log


@pytest.mark.timeout(900)
def test_a_driver_ends_with_its_java(any_gateway: Gateway) -> None:
    driver, java = driver_of(any_gateway, "bob")
    driver.parent().send_signal(signal.SIGSTOP)  # the gateway cannot end the driver
    try:
        java.kill()
        while driver.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.1)
    finally:
        driver.parent().send_signal(signal.SIGCONT)
    assert "> bob\n" in any_gateway.beeline("bob", password_of("bob"), "SELECT * FROM bob.by_jdbc")


def driver_of(gateway: Gateway, user: str) -> tuple[psutil.Process, psutil.Process]:
    """Returns the driver of a user and its Java."""
    (java,) = (
        process
        for process in psutil.Process(gateway.process.pid).children(recursive=True)
        if process.name() == "java" and process.environ().get("SPARK_USER") == user
    )
    return java.parent(), java


@pytest.mark.timeout(900)
def test_a_removed_user_loses_the_driver(any_gateway: Gateway, users: PasswordFile) -> None:
    users.remove("bob")
    _, java = driver_of(any_gateway, "bob")
    psutil.wait_procs([java], timeout=240)
    assert not java.is_running()
    assert "unknown or the password is wrong" in any_gateway.beeline("bob", password_of("bob"), "SELECT 1")
    assert "result 11" in any_gateway.beeline(
        "alice", password_of("alice"), "SELECT concat('result ', max(id)) FROM alice.by_jdbc"
    )
    if any_gateway.connect is not None:
        assert any_gateway.ask("bob", "SELECT 1")[0].startswith("UNAUTHENTICATED")
        assert any_gateway.ask("alice", "SELECT max(id) FROM alice.t") == [[[3]]]


def warehouse(gateway: Gateway) -> str:
    admin = Credentials(user="admin", password=password_of("admin"))
    with connect(f"thrift://localhost:{gateway.metastore.port}", credentials=admin) as client:
        return str(client.get_database("default").location).removeprefix("file:")
