"""Named types."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from metastore.encoding.binary import STOP, EncodedStruct, encode_fields
from metastore.storage.schema import types
from thrift_idl.gen.hive_metastore.ttypes import Type


class Types:
    """Queries on types. Names come folded."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, name: str) -> EncodedStruct[Type] | None:
        query = select(types.c.encoded).where(types.c.name == name)
        encoded = self._connection.execute(query).scalar_one_or_none()
        return EncodedStruct(Type, bytes(encoded) + STOP) if encoded is not None else None

    def select(self, pattern: str | None = None) -> dict[str, Type]:
        """By name, ascending; `pattern` as `domain.names.pattern_regex` gives it."""
        query = select(types).order_by(types.c.name)
        if pattern is not None:
            query = query.where(types.c.name.op("~*")(pattern))
        rows = self._connection.execute(query)
        return {row.name: EncodedStruct(Type, bytes(row.encoded) + STOP).decode() for row in rows}

    def insert(self, new: Type) -> None:
        """Raises AlreadyExistsError."""
        self._connection.execute(insert(types).values(name=new.name, encoded=encode_fields(new)))

    def delete(self, name: str) -> bool:
        """False where it was not there."""
        return self._connection.execute(delete(types).where(types.c.name == name)).rowcount > 0
