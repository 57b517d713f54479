"""Catalogs, and the identity of the metastore."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert

from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import catalogs
from metastore.storage.schema.servers import metastore_properties
from thrift_idl.gen.hive_metastore.ttypes import Catalog

_IDENTITY = "guid"


class Catalogs(Repository):
    """Queries on catalogs. Names are in lower case."""

    def find(self, name: str, *, lock: bool = False) -> Catalog | None:
        """Returns the catalog, or None. `lock`: keeps others from changing or dropping it, or adding databases."""
        query = select(catalogs).where(catalogs.c.name == name)
        row = self._connection.execute(query.with_for_update() if lock else query).one_or_none()
        return Catalog(row.name, row.description, row.location, row.create_time, row.parameters) if row else None

    def names(self) -> list[str]:
        """Lists names, ascending."""
        return list(self._connection.execute(select(catalogs.c.name).order_by(catalogs.c.name)).scalars())

    def insert(self, catalog: Catalog, *, if_not_exists: bool = False) -> None:
        """Adds a catalog. Raises AlreadyExistsError unless `if_not_exists`."""
        statement = insert(catalogs).values(_row(catalog))
        self._connection.execute(statement.on_conflict_do_nothing() if if_not_exists else statement)

    def update(self, catalog: Catalog) -> None:
        self._connection.execute(update(catalogs).where(catalogs.c.name == catalog.name).values(_row(catalog)))

    def delete(self, name: str) -> None:
        self._connection.execute(delete(catalogs).where(catalogs.c.name == name))

    def identity(self) -> str:
        """Returns the metastore's UUID, which is created on first use and never changes."""
        new = {"name": _IDENTITY, "value": str(uuid.uuid4())}
        self._connection.execute(insert(metastore_properties).values(new).on_conflict_do_nothing())
        query = select(metastore_properties.c.value).where(metastore_properties.c.name == _IDENTITY)
        identity: str = self._connection.execute(query).scalar_one()
        return identity


def _row(catalog: Catalog) -> dict[str, Any]:
    return {
        "name": catalog.name,
        "location": catalog.locationUri,
        "description": catalog.description,
        "create_time": catalog.createTime,
        "parameters": catalog.parameters or {},
    }
