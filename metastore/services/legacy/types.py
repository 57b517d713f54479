"""Named types of clients: stored and returned; nothing else in the metastore uses them."""

from __future__ import annotations

from metastore.domain.names import check_object_name
from metastore.encoding.binary import EncodedStruct
from metastore.encoding.structs import shallow_copy
from metastore.errors import AlreadyExistsError, InvalidObjectError, NotFoundError
from metastore.services.rules.lookup import required, taken
from metastore.services.rules.tables import check_names
from metastore.services.service import Service
from thrift_idl.gen.hive_metastore.ttypes import Type


class TypeService(Service):
    """Rules of types (Hive's HMSHandler)."""

    def create(self, new: Type) -> None:
        """Stores a type unchanged; its fields may be of other named types.

        Raises AlreadyExistsError, InvalidObjectError.
        """
        check_object_name("type", new.name or "")
        if any(field is None for field in new.fields or []):
            raise InvalidObjectError(f"Type {new.name} has a field that is null")
        check_names([shallow_copy(field) for field in new.fields or []])
        with taken(AlreadyExistsError(f"Type {new.name} already exists")), self._store.transaction() as work:
            work.types.insert(new)

    def drop(self, name: str) -> None:
        """Drops a type. As in Hive, no error if it does not exist."""
        with self._store.transaction() as work:
            work.types.delete(name)

    def get(self, name: str) -> EncodedStruct[Type]:
        """Reads a type. Raises NotFoundError."""
        with self._store.read() as work:
            return required(work.types.find(name), NotFoundError(f"Type {name} does not exist"))

    def select(self, pattern: str | None) -> dict[str, Type]:
        """Returns types by name. `pattern`: a regular expression; None for all."""
        with self._store.read() as work:
            return work.types.select(pattern)
