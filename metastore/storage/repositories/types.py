"""Named types."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from metastore.encoding.binary import EncodedStruct
from metastore.storage.mapping.layout import Fields, whole
from metastore.storage.mapping.whole_objects import type_row
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import types
from thrift_idl.gen.hive_metastore.ttypes import Type


class Types(Repository):
    """Queries on types. Names keep their case."""

    def find(self, name: str) -> EncodedStruct[Type] | None:
        query = select(types.c.encoded).where(types.c.name == name)
        encoded = self._connection.execute(query).scalar_one_or_none()
        return whole(Type, Fields(bytes(encoded))) if encoded is not None else None

    def select(self, pattern: str | None = None) -> dict[str, Type]:
        """Returns types by name, ascending. `pattern`: as `domain.names.pattern_regex` returns it."""
        query = select(types).order_by(types.c.name)
        if pattern is not None:
            query = query.where(types.c.name.op("~*")(pattern))
        rows = self._connection.execute(query)
        return {row.name: whole(Type, Fields(bytes(row.encoded))).decode() for row in rows}

    def insert(self, new: Type) -> None:
        """Adds a type. Raises AlreadyExistsError."""
        self._connection.execute(insert(types).values(type_row(new)))

    def delete(self, name: str) -> bool:
        """Deletes a type; False if it does not exist."""
        return self._connection.execute(delete(types).where(types.c.name == name)).rowcount > 0
