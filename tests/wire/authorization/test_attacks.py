"""Attempts to get around authorization: other catalogs, undrop, dependent tables, indexes, shared connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.handlers.registry import served
from tests.wire.authorization.arguments import Names, arguments_of
from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import GROUP, USER, grant, on_database, on_table
from tests.wire.builders import columns, descriptor, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlterTableRequest,
    Catalog,
    CreateCatalogRequest,
    CreationMetadata,
    Database,
    Function,
    GetProjectionsSpec,
    GetTablesRequest,
    HiveObjectRef,
    HiveObjectType,
    Index,
    MetaException,
    NoSuchObjectException,
    PartitionSpec,
    PartitionSpecWithSharedSD,
    PartitionWithoutSD,
    PrincipalPrivilegeSet,
    PrivilegeGrantInfo,
)
from thrift_idl.gen.metastore.ttypes import (
    CreateDependentTableRequest,
    DroppedRequest,
    UndropRequest,
)

Clients = Callable[..., Any]


def told(call: Callable[[], Any]) -> str:
    try:
        return repr(call())
    except (TException, TExceptionBase) as error:
        return f"{error!r} {getattr(error, 'message', None)}"


@pytest.fixture
def chain(client_of: Clients) -> tuple[str, str]:
    """A visible database with a table that depends on a hidden one, and the database of the hidden table."""
    root, shown, hidden = client_of(ADMIN), unique("shown"), unique("zsecret")
    root.create_database(Database(name=shown, ownerName="patron"))
    root.create_database(Database(name=hidden, ownerName="zowner"))
    root.create_table(table(hidden, "zbase", [("ds", "string")], owner="zowner"))
    root.add_partition(partition(hidden, "zbase", ["1"]))
    request = CreateDependentTableRequest(shown, "dependent", columns(("ds", "")), hidden, "zbase", owner="patron")
    root.create_dependent_table(request)
    root.add_partition(partition(shown, "dependent", ["1"]))
    grant(root, on_table(shown, "dependent"), "SELECT", "bob")
    return shown, hidden


def test_only_the_definition_of_a_dependent_table_names_its_hidden_base(
    client_of: Clients, chain: tuple[str, str]
) -> None:
    (shown, _), bob = chain, client_of("bob")
    names = Names(shown, "dependent", "bob")
    answers = {
        name: told(lambda: getattr(bob, name)(*arguments_of(method, names)))  # noqa: B023 - called at once
        for name, method in served().items()
        if name not in ("set_ugi", "shutdown")
    }
    telling = {name for name, answer in answers.items() if "zsecret" in answer or "zbase" in answer}
    assert telling <= {"get_table", "get_table_req", "get_table_objects_by_name", "get_table_objects_by_name_req"}
    assert shown in answers["get_table"]


def test_errors_in_another_catalog_do_not_name_hidden_tables(client_of: Clients, tmp_path: Any) -> None:
    root, dropper, catalog = client_of(ADMIN), client_of("dropper"), unique("cat")
    root.create_catalog(CreateCatalogRequest(Catalog(catalog, None, f"file:{tmp_path}")))
    for name in ("shown", "zhidden"):
        root.create_database(Database(name=name, catalogName=catalog, locationUri=f"file:{tmp_path}/{name}"))
    root.create_table(table(f"@{catalog}#shown", "seen", [("ds", "string")]))
    request = CreateDependentTableRequest("zhidden", "zdependent", columns(("ds", "")), "shown", "seen", catalog)
    root.create_dependent_table(request)
    grant(root, HiveObjectRef(HiveObjectType.TABLE, "shown", "seen", catName=catalog), "DROP", "dropper")
    with pytest.raises(MetaException, match=r"\(hidden\) depends on it"):
        dropper.drop_table(f"@{catalog}#shown", "seen", False)


def test_names_in_an_index_do_not_reveal_hidden_tables(client_of: Clients) -> None:
    root, bob, mine, hidden = client_of(ADMIN), client_of("bob"), unique("mine"), unique("zsecret")
    root.create_database(Database(name=mine, ownerName="bob"))
    root.create_database(Database(name=hidden, ownerName="zowner"))
    root.create_table(table(hidden, "t", owner="zowner"))
    bob.create_table(table(mine, "t"))

    def add(name: str, holder: str) -> str:
        index = Index(name, "handler", mine, "t", 0, 0, holder, descriptor(), {}, False)
        return told(lambda: bob.add_index(index, table(mine, name, tableType="INDEX_TABLE")))

    def alter(database: str, holder: str) -> str:
        index = Index("known", "handler", database, "t", 0, 0, holder, descriptor(), {}, False)
        return told(lambda: bob.alter_index(mine, "t", "known", index))

    assert "Exception" not in add("known", "known")
    assert alter(mine, "known") == "None"
    missing = unique("ymissing")
    for ask in (
        lambda guess: add("other", f"{guess}.t"),
        lambda guess: alter(guess, f"{mine}.known"),
        lambda guess: alter(mine, f"{guess}.t"),
    ):
        answer = ask(hidden)
        assert "Exception" in answer
        assert answer.replace(hidden, missing) == ask(missing)


def test_undrop_by_id_does_not_restore_objects_of_others(client_of: Clients) -> None:
    root, bob, mine, hidden = client_of(ADMIN), client_of("bob"), unique("mine"), unique("zsecret")
    root.create_database(Database(name=mine, ownerName="bob"))
    root.create_database(Database(name=hidden, ownerName="zowner"))
    root.create_table(table(hidden, "zbase", [("ds", "string")], owner="zowner"))
    root.drop_table(hidden, "zbase", True)
    (dropped,) = root.dropped(DroppedRequest(hidden))
    with pytest.raises((MetaException, NoSuchObjectException)):
        bob.dropped(DroppedRequest(hidden))
    with pytest.raises((MetaException, NoSuchObjectException)):
        bob.dropped(DroppedRequest())
    assert bob.dropped(DroppedRequest(mine)) == []
    for request in (
        UndropRequest(mine, "zbase", id=dropped.id),
        UndropRequest(mine, "zbase", newName="stolen", id=dropped.id),
        UndropRequest(mine, id=dropped.id),
        UndropRequest(hidden, "zbase", id=dropped.id),
        UndropRequest(hidden, "zbase", newName="other"),
    ):
        answer = told(lambda: bob.undrop(request))  # noqa: B023 - called at once
        assert "zowner" not in answer
        assert "Exception" in answer
    assert bob.get_all_tables(mine) == []


def test_undrop_does_not_give_a_table_to_its_caller(client_of: Clients) -> None:
    root, bob, name = client_of(ADMIN), client_of("bob"), unique("d")
    root.create_database(Database(name=name, ownerName="zowner"))
    grant(root, on_database(name), "CREATE", "bob")
    root.create_table(table(name, "t", [("ds", "string")], owner="zowner"))
    root.drop_table(name, "t", True)
    told(lambda: bob.undrop(UndropRequest(name, "t")))
    assert bob.get_all_tables(name) == []
    with pytest.raises(NoSuchObjectException):
        bob.get_table(name, "t")


def test_users_of_a_shared_connection_share_only_the_connection(client_of: Clients) -> None:
    """Connection pools do so. Settings and grants of a user do not apply to the next one."""
    root, pooled, database, group = client_of(ADMIN), client_of("nobody"), unique("d"), unique("g")
    root.create_database(Database(name=database, ownerName="zowner"))
    for name, principal, kind in (("a", "alice", USER), ("g", group, GROUP)):
        root.create_table(table(database, name, owner="zowner"))
        grant(root, on_table(database, name), "SELECT", principal, kind)
    setting = "metastore.disallow.incompatible.col.type.changes"
    pooled.setMetaConf(setting, "false")
    pooled.set_ugi("nobody", [])
    assert pooled.getMetaConf(setting) == "false"
    pooled.set_ugi("alice", [])
    assert pooled.getMetaConf(setting) == "true"
    seen = {("alice", ()): ["a"], ("bob", ()): [], ("bob", (group,)): ["g"], ("zowner", ()): ["a", "g"]}
    for _ in range(3):
        for (user, groups), names in seen.items():
            pooled.set_ugi(user, list(groups))
            assert pooled.get_all_tables(database) == names
            for name in ("a", "g"):
                if name in names:
                    assert pooled.get_table(database, name).tableName == name
                else:
                    with pytest.raises(NoSuchObjectException):
                        pooled.get_table(database, name)


@pytest.fixture
def homes(client_of: Clients) -> tuple[str, str]:
    """A database of zowner with a table that has a secret, and a database of bob."""
    root, theirs, mine = client_of(ADMIN), unique("theirs"), unique("mine")
    root.create_database(Database(name=theirs, ownerName="zowner"))
    root.create_database(Database(name=mine, ownerName="bob"))
    root.create_table(table(theirs, "t", [("ds", "string")], owner="zowner", parameters={"db.password": "S3CRET"}))
    root.add_partition(partition(theirs, "t", ["1"]))
    return theirs, mine


def test_alter_is_not_enough_to_move_an_object_to_ones_own_database(client_of: Clients, homes: tuple[str, str]) -> None:
    """The owner of the target database would get all rights on it."""
    root, bob, (theirs, mine) = client_of(ADMIN), client_of("bob"), homes
    grant(root, on_table(theirs, "t"), "ALTER", "bob")
    grant(root, on_database(theirs), "ALTER", "bob")
    moved = bob.get_table(theirs, "t")
    moved.dbName = mine
    assert f"[OWNERSHIP] privilege on [{theirs}/t]" in told(lambda: bob.alter_table(theirs, "t", moved))
    client_of("zowner").create_function(Function("f", theirs, "org.example.F", "zowner", USER, 0, 1, []))
    moved_function = Function("f", mine, "org.example.G", "zowner", USER, 0, 1, [])
    assert f"[DROP] privilege on [{theirs}]" in told(lambda: bob.alter_function(theirs, "f", moved_function))
    taken = Function("f", theirs, "org.example.G", "bob", USER, 0, 1, [])
    assert f"[OWNERSHIP] privilege on [{theirs}/f]" in told(lambda: bob.alter_function(theirs, "f", taken))
    bob.alter_function(theirs, "f", Function("f", theirs, "org.example.G", None, USER, 0, 1, []))
    assert (root.get_function(theirs, "f").className, root.get_function(theirs, "f").ownerName) == (
        "org.example.G",
        "zowner",
    )
    root.alter_table(theirs, "t", moved)
    assert bob.get_table(mine, "t").parameters["db.password"] == "S3CRET"


def test_delete_is_not_enough_to_exchange_partitions(client_of: Clients, homes: tuple[str, str]) -> None:
    root, bob, (theirs, mine) = client_of(ADMIN), client_of("bob"), homes
    bob.create_table(table(mine, "t", [("ds", "string")]))
    grant(root, on_table(theirs, "t"), "DELETE", "bob")
    exchange = lambda: bob.exchange_partition({"ds": "1"}, theirs, "t", mine, "t")  # noqa: E731 - called twice
    assert f"[SELECT] privilege on [{theirs}/t]" in told(exchange)
    grant(root, on_table(theirs, "t"), "SELECT", "bob")
    secret = client_of("zowner").get_partition(theirs, "t", ["1"])
    secret.parameters["x.password"] = secret.sd.serdeInfo.parameters["y.password"] = "S3CRET"
    client_of("zowner").alter_partition(theirs, "t", secret)
    assert "Partition(" in told(exchange)
    assert "S3CRET" not in repr(bob.get_partition(mine, "t", ["1"]))


def test_filters_and_errors_do_not_reveal_secrets(client_of: Clients, homes: tuple[str, str]) -> None:
    root, bob, zowner, (theirs, _) = client_of(ADMIN), client_of("bob"), client_of("zowner"), homes
    grant(root, on_table(theirs, "t"), "ALTER", "bob")
    for guess in ("= 'S3CRET'", "like 'S3%'", "<> 'x'"):
        asked = f"hive_filter_field_params__db.password {guess}"
        assert bob.get_table_names_by_filter(theirs, asked, -1) == []
        assert zowner.get_table_names_by_filter(theirs, asked, -1) == ["t"]
    assert bob.get_table_names_by_filter(theirs, "hive_filter_field_tableType__ = 'MANAGED_TABLE'", -1) == ["t"]
    new = bob.get_table(theirs, "t")
    changed = AlterTableRequest(None, theirs, "t", new, expectedParameterKey="db.password", expectedParameterValue="?")
    answer = told(lambda: bob.alter_table_req(changed))
    assert "cannot be the name of a secret" in answer
    assert "S3CRET" not in answer


def test_the_creator_of_a_table_is_the_grantor_of_its_privileges(client_of: Clients, homes: tuple[str, str]) -> None:
    root, bob, (_, mine) = client_of(ADMIN), client_of("bob"), homes
    new = table(mine, "t")
    new.privileges = PrincipalPrivilegeSet({"carol": [PrivilegeGrantInfo("SELECT", 0, ADMIN, USER, True)]})
    bob.create_table(new)
    (granted,) = root.list_privileges("carol", USER, on_table(mine, "t"))
    assert granted.grantInfo.grantor == "bob"


def test_projections_contain_only_visible_tables(client_of: Clients, homes: tuple[str, str]) -> None:
    root, bob, (theirs, _) = client_of(ADMIN), client_of("bob"), homes
    root.create_table(table(theirs, "hidden", owner="zowner"))
    grant(root, on_table(theirs, "t"), "SELECT", "bob")
    asked = GetTablesRequest(theirs, None, projectionSpec=GetProjectionsSpec(["owner"]), tablesPattern="*")
    assert [each.owner for each in bob.get_table_objects_by_name_req(asked).tables] == ["zowner"]
    assert len(client_of("zowner").get_table_objects_by_name_req(asked).tables) == 2


def test_unset_fields_keep_their_stored_values(client_of: Clients, homes: tuple[str, str]) -> None:
    """A caller with ALTER does not change the owner; a caller with INSERT changes only statistics."""
    root, bob, (theirs, _) = client_of(ADMIN), client_of("bob"), homes
    root.create_table(table(theirs, "bucketed", owner="zowner", sd=descriptor(bucketCols=["a"], numBuckets=4)))
    grant(root, on_table(theirs, "bucketed"), "INSERT", "bob")
    new = bob.get_table(theirs, "bucketed")
    new.owner = new.sd.bucketCols = new.sd.numBuckets = new.sd.inputFormat = new.sd.serdeInfo.serializationLib = None
    new.parameters["numRows"] = "7"
    bob.alter_table(theirs, "bucketed", new)
    grant(root, on_table(theirs, "t"), "ALTER", "bob")
    grant(root, on_database(theirs), "ALTER", "bob")
    bob.alter_table(theirs, "t", table(theirs, "t", [("ds", "string")], owner=None))
    for user in ("bob", "zowner"):
        client_of(user).alter_database(theirs, Database(name=theirs, parameters={"a": "b"}))
    known = root.get_table(theirs, "bucketed")
    assert (known.sd.bucketCols, known.sd.numBuckets, known.parameters["numRows"]) == (["a"], 4, "7")
    assert known.sd.serdeInfo.serializationLib == descriptor().serdeInfo.serializationLib
    assert [known.owner, root.get_table(theirs, "t").owner, root.get_database(theirs).ownerName] == ["zowner"] * 3


def test_a_function_with_the_name_of_a_hidden_table_does_not_exist(client_of: Clients, homes: tuple[str, str]) -> None:
    root, bob, (theirs, _) = client_of(ADMIN), client_of("bob"), homes
    root.create_table(table(theirs, "other", owner="zowner"))
    grant(root, on_table(theirs, "other"), "SELECT", "bob")
    for ask in (bob.get_function, bob.drop_function):
        assert told(lambda: ask(theirs, "t")) == told(lambda: ask(theirs, "u")).replace(".u ", ".t ")  # noqa: B023
        assert "(hidden)" not in told(lambda: ask(theirs, "t"))  # noqa: B023 - called at once


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("path", "serde"),
        ("PATH", "serde"),
        ("metadata_location", "table"),
        ("avro.schema.url", "table"),
        ("path", "sd"),
    ],
)
def test_properties_give_no_access_to_the_data_of_others(
    client_of: Clients, homes: tuple[str, str], name: str, where: str
) -> None:
    """Spark reads a data source table at the serde's `path`, Iceberg one at the table's `metadata_location`."""
    root, bob, (theirs, mine) = client_of(ADMIN), client_of("bob"), homes
    hidden = root.get_table(theirs, "t").sd.location

    def with_property(new: Any, value: str) -> Any:
        held = {"serde": new.sd.serdeInfo, "sd": new.sd, "table": new}[where]
        held.parameters = {**(held.parameters or {}), name: value}
        return new

    denied = "does not have [LOCATION] privilege"
    relative = f"../{theirs}.db/t"  # to the working directory of a client
    encoded = f"{root.get_database(mine).locationUri}/%2E%2E/{theirs}.db/t"
    paths = (hidden, f"{hidden}/ds=1", hidden.removeprefix("file:"), f"file://localhost{hidden[5:]}/../t/x")
    home = root.get_database(mine).locationUri
    # Hadoop replaces the variable by the table's property x, and a pattern by the files that match.
    templates = [f"{home}/{last}" for last in ("${x}", f"{{../{theirs}.db/t,x}}", "*", "?", "[t]")]
    for value in (*paths, f" {hidden}", f'["{hidden}"]', relative, encoded, *templates):
        assert denied in told(lambda: bob.create_table(with_property(table(mine, "a"), value)))  # noqa: B023
    bob.create_table(table(mine, "a", [("ds", "string")]))
    assert denied in told(lambda: bob.alter_table(mine, "a", with_property(bob.get_table(mine, "a"), hidden)))
    if where != "table":
        assert denied in told(lambda: bob.add_partition(with_property(partition(mine, "a", ["1"]), hidden)))
    own = with_property(bob.get_table(mine, "a"), f"{bob.get_table(mine, 'a').sd.location}/metadata")
    bob.alter_table(mine, "a", own)
    set_by_root = with_property(root.get_table(mine, "a"), hidden)
    root.alter_table(mine, "a", set_by_root)
    kept = bob.get_table(mine, "a")
    kept.parameters["comment"] = "changed"
    bob.alter_table(mine, "a", kept)  # a location that an administrator has set stays


def test_relative_locations_of_partitions_stay_in_their_table(client_of: Clients, homes: tuple[str, str]) -> None:
    root, bob, (theirs, mine) = client_of(ADMIN), client_of("bob"), homes
    bob.create_table(table(mine, "a", [("ds", "string")]))
    bob.add_partition(partition(mine, "a", ["1"]))
    own = bob.get_table(mine, "a").sd.location

    def at(location: str) -> Any:
        moved = bob.get_partition(mine, "a", ["1"])
        moved.sd.location = location
        return moved

    for template in ("${x}", "*", f"{{../{theirs}.db/t,x}}"):
        other = table(mine, "b", sd=descriptor(f"{root.get_database(mine).locationUri}/{template}"))
        assert "does not have [LOCATION] privilege" in told(lambda: bob.create_table(other))  # noqa: B023
    outside = (f"../../{theirs}.db/t", f"x/../../../{theirs}.db/t/ds=1")
    for location in (*outside, "${x}", f"{own}/${{x}}", "*", f"{own}/{{../../{theirs}.db/t,x}}"):
        shared = PartitionSpecWithSharedSD([PartitionWithoutSD(["2"], 0, 0, location, {})], descriptor(own))
        spec = PartitionSpec(mine, "a", own, sharedSDPartitionSpec=shared)
        for call in (
            lambda: bob.alter_partition(mine, "a", at(location)),  # noqa: B023 - called at once
            lambda: bob.rename_partition(mine, "a", ["1"], at(location)),  # noqa: B023
            lambda: bob.add_partitions_pspec([spec]),  # noqa: B023
        ):
            assert "does not have [LOCATION] privilege" in told(call)
    bob.alter_partition(mine, "a", at("below"))
    assert bob.get_partition(mine, "a", ["1"]).sd.location == f"{own}/below"


def test_a_reader_cannot_keep_a_table_from_being_dropped(client_of: Clients, homes: tuple[str, str]) -> None:
    root, bob, (theirs, mine) = client_of(ADMIN), client_of("bob"), homes
    grant(root, on_table(theirs, "t"), "SELECT", "bob")
    sources = CreationMetadata("hive", mine, "v", {f"hive.{theirs}.t"})
    view = table(mine, "v", tableType="MATERIALIZED_VIEW", creationMetadata=sources)
    assert "does not have [ALTER] privilege" in told(lambda: bob.create_table(view))
    grant(root, on_table(theirs, "t"), "ALTER", "bob")
    bob.create_table(view)


def test_the_default_directory_of_another_table_is_taken(client_of: Clients) -> None:
    """Spark stores managed data source tables there, and registers a placeholder."""
    root, bob, shared = client_of(ADMIN), client_of("bob"), unique("shared")
    root.create_database(Database(name=shared, ownerName="zowner"))
    grant(root, on_database(shared), "CREATE", "bob")
    home = root.get_database(shared).locationUri
    placeholder = table(shared, "t", owner="zowner", sd=descriptor(f"{home}/t-__PLACEHOLDER__"))
    placeholder.sd.serdeInfo.parameters["path"] = f"{home}/t"
    root.create_table(placeholder)
    for location in (f"{home}/t", f"{home}/t/part"):
        answer = told(lambda: bob.create_table(table(shared, "u", sd=descriptor(location))))  # noqa: B023
        assert "does not have [LOCATION] privilege" in answer
    bob.create_table(table(shared, "u", sd=descriptor(f"{home}/u")))
