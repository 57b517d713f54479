"""Functions: their name, their class, and where its code lies."""

from __future__ import annotations

from metastore.domain import events
from metastore.domain.names import check_object_name, fold
from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.encoding.json import encode_json
from metastore.errors import (
    AlreadyExistsError,
    InvalidInputError,
    InvalidObjectError,
    InvalidOperationError,
    NotFoundError,
)
from metastore.services.entry.databases import Clock
from metastore.storage.repositories.functions import StoredFunction
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Function, FunctionType, PrincipalType


class FunctionService:
    """Rules of functions (Hive's HMSHandler). Catalog and database names come folded, those of functions as sent:
    Spark looks for its own spelling in the message that a function does not exist.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, catalog: str, database: str, function: Function) -> None:
        """Raises AlreadyExistsError, InvalidObjectError, NotFoundError (of the database)."""
        function = _prepared(function, catalog, database)
        function.createTime = self._clock()
        try:
            with self._store.transaction() as work:
                stored = work.databases.find(catalog, database)
                if stored is None:
                    raise NotFoundError(f"The database {database} does not exist")
                work.functions.insert(stored.id, function)
                work.record(events.create_function(catalog, database, encode_json(function)))
        except AlreadyExistsError:
            raise AlreadyExistsError(f"Function {function.functionName} already exists") from None

    def alter(self, catalog: str, database: str, name: str, new: Function, new_database: str) -> None:
        """Replaces a function, its name and database included.

        Raises NotFoundError, InvalidObjectError, InvalidOperationError (the new name is taken, its database missing).
        """
        new = _prepared(new, catalog, new_database)
        try:
            with self._store.transaction() as work:
                stored = _found(work, catalog, database, name, lock=True)
                new.createTime = stored.encoded.decode().createTime
                target = work.databases.find(catalog, new_database)
                if target is None:
                    raise InvalidOperationError(f"The database {new_database} does not exist")
                work.functions.update(stored.id, target.id, new)
        except AlreadyExistsError:
            raise InvalidOperationError(f"Function {new_database}.{new.functionName} already exists") from None

    def drop(self, catalog: str, database: str, name: str) -> None:
        """Raises NotFoundError."""
        with self._store.transaction() as work:
            work.functions.delete(_found(work, catalog, database, name, lock=True).id)
            work.record(events.drop_function(catalog, database, fold(name)))

    def get(self, catalog: str, database: str, name: str) -> EncodedStruct[Function]:
        """Raises NotFoundError."""
        with self._store.read() as work:
            return _found(work, catalog, database, name).encoded

    def names(self, catalog: str, database: str, pattern: str | None) -> list[str]:
        """Ascending; empty for an unknown database. `pattern` is a regular expression."""
        with self._store.read() as work:
            return work.functions.names(catalog, database, pattern)

    def select(self, catalog: str, database: str | None = None, pattern: str | None = None) -> EncodedList[Function]:
        """Those of one database, or of all, by their names."""
        with self._store.read() as work:
            return work.functions.select(catalog, database, pattern)


def _prepared(function: Function, catalog: str, database: str) -> Function:
    """Completes and checks (HMSHandler.validateFunctionInfo). Raises InvalidInputError, InvalidObjectError."""
    if function is None:
        raise InvalidInputError("Function cannot be null.")
    function.catName, function.dbName, function.functionName = catalog, database, fold(function.functionName)
    check_object_name("function", function.functionName)
    if function.className is None:
        raise InvalidObjectError("Function class name cannot be null")
    function.ownerType = function.ownerType or PrincipalType.USER
    function.functionType = function.functionType or FunctionType.JAVA
    function.resourceUris = [each for each in function.resourceUris or [] if each is not None]
    return function


def _found(work: UnitOfWork, catalog: str, database: str, name: str, *, lock: bool = False) -> StoredFunction:
    stored = work.functions.find(catalog, database, fold(name), lock=lock)
    if stored is None:
        raise NotFoundError(f"Function {database}.{name} does not exist")
    return stored
