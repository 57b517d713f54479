"""Databases and catalogs."""

from __future__ import annotations

from pathlib import Path

from tests.interop.hive.client import Hive, equal
from tests.wire.builders import unique


def databases(hive: Hive, folder: Path) -> None:
    """Creates, finds by patterns, changes and drops databases."""
    group, client, name = "databases", hive.client, unique("db")
    with hive.attempt(group, "createDatabase"):
        made = hive.make("Database", name=name.upper(), description="d", ownerName="me", parameters={"k": "v"})
        client.createDatabase(made)
    with hive.refused(group, "createDatabase of one that is there", "AlreadyExistsException", name):
        client.createDatabase(hive.make("Database", name=name))
    with hive.attempt(group, "getDatabase"):
        stored = client.getDatabase(name)
        equal((stored.getName(), stored.getCatalogName(), stored.getDescription()), (name, "hive", "d"))
        equal((dict(stored.getParameters()), stored.getOwnerType().name()), ({"k": "v"}, "USER"))
    with hive.attempt(group, "getDatabase with a catalog"):
        equal(client.getDatabase("hive", name).getName(), name)
    with hive.refused(group, "getDatabase of none", "NoSuchObjectException", "nowhere"):
        client.getDatabase("nowhere")
    with hive.attempt(group, "getDatabases"):
        equal(client.getDatabases(f"{name[:-2]}*"), [name])
        equal(client.getDatabases("hive", name), [name])
        equal(client.getDatabases("nothing|like|this"), [])
    with hive.attempt(group, "getAllDatabases"):
        assert {name, "default"} <= set(client.getAllDatabases())
        equal(client.getAllDatabases("nowhere"), [])
    if hive.is_4:
        with hive.attempt(group, "get_databases_req"):
            request = hive.make("GetDatabaseObjectsRequest", pattern=name)
            equal([database.getName() for database in client.get_databases_req(request).getDatabases()], [name])
    with hive.attempt(group, "alterDatabase"):
        stored = client.getDatabase(name)
        stored.setParameters({"k": "w"})
        stored.setOwnerName("you")
        client.alterDatabase(name, stored)
        stored = client.getDatabase(name)
        equal((dict(stored.getParameters()), stored.getOwnerName()), ({"k": "w"}, "you"))
    with hive.refused(group, "alterDatabase of none", "NoSuchObjectException"):
        client.alterDatabase("nowhere", hive.make("Database", name="nowhere", locationUri=f"file:{folder}/x"))
    client.createTable(hive.table(name, "t"))
    with hive.refused(group, "dropDatabase with tables", "InvalidOperationException", f"Database {name} is not empty"):
        client.dropDatabase(name)
    with hive.attempt(group, "dropDatabase with cascade"):
        client.dropDatabase(name, True, False, True)
        equal(client.getDatabases(name), [])
    with hive.refused(group, "dropDatabase of none", "NoSuchObjectException"):
        client.dropDatabase(name)
    with hive.attempt(group, "dropDatabase of none, if it is there"):
        client.dropDatabase(name, True, True)
    with hive.refused(group, "dropDatabase of the default one", "MetaException", "default"):
        client.dropDatabase("default")
    _cascade_in_pieces(hive, unique("db"))


def _cascade_in_pieces(hive: Hive, name: str) -> None:
    """With CASCADE, the client drops the tables itself, one by one, before the database."""
    with hive.attempt("databases", "dropDatabase table by table"):
        client = hive.connect(batch_retrieve_max="1", client_drop_database_batch_size="1")
        client.createDatabase(hive.make("Database", name=name))
        for table in "tu":
            client.createTable(hive.table(name, table))
        client.dropDatabase(name, True, False, True)
        equal(client.getDatabases(name), [])
        client.close()


def catalogs(hive: Hive, folder: Path) -> None:
    """Each catalog has its own databases."""
    group, client, name = "catalogs", hive.client, unique("cat")
    with hive.attempt(group, "createCatalog"):
        catalog = hive.make("Catalog", name=name, description="c", locationUri=f"file:{folder}/{name}")
        if hive.version >= (4, 2):
            catalog.setParameters({"k": "v"})
        client.createCatalog(catalog)
    with hive.refused(group, "createCatalog of one that is there", "AlreadyExistsException", name):
        client.createCatalog(hive.make("Catalog", name=name, locationUri=f"file:{folder}/{name}"))
    with hive.attempt(group, "getCatalog"):
        stored = client.getCatalog(name)
        equal((stored.getName(), stored.getLocationUri()), (name, f"file:{folder}/{name}"))
        if hive.version >= (4, 2):
            equal(dict(stored.getParameters()), {"k": "v"})
    with hive.attempt(group, "getCatalogs"):
        assert {"hive", name} <= set(client.getCatalogs())
    with hive.attempt(group, "alterCatalog"):
        stored = client.getCatalog(name)
        stored.setDescription("changed")
        client.alterCatalog(name, stored)
        equal(client.getCatalog(name).getDescription(), "changed")
    with hive.attempt(group, "a database and a table in it"):
        client.createDatabase(hive.make("Database", name="db", catalogName=name))
        client.createTable(hive.table("db", "t", ("ds", "string"), catName=name))
        equal(client.getAllDatabases(name), ["db", "default"])
        equal(client.getTable(name, "db", "t").getCatName(), name)
        equal(client.getTables(name, "db", "*"), ["t"])
        equal(client.tableExists("db", "t"), False)
        client.add_partition(hive.partition("db", "t", "1", catName=name))
        equal(client.listPartitionNames(name, "db", "t", -1), ["ds=1"])
        client.dropTable(name, "db", "t", True, False, False)
    with hive.refused(group, "dropCatalog with databases", "InvalidOperationException"):
        client.dropCatalog(name)
    with hive.attempt(group, "dropCatalog"):
        client.dropDatabase(name, "db", True, False, False)
        client.dropCatalog(name)
    with hive.refused(group, "getCatalog of none", "NoSuchObjectException", name):
        client.getCatalog(name)
