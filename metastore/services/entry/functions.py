"""Functions: their name, their class, and where its code lies."""

from __future__ import annotations

from metastore.domain import events
from metastore.domain.names import DatabaseName, check_object_name, fold
from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.encoding.json import encode_json
from metastore.errors import (
    AlreadyExistsError,
    InvalidObjectError,
    NotFoundError,
    NullError,
)
from metastore.services.clock import Clock
from metastore.storage.repositories.functions import StoredFunction
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Function


class FunctionService:
    """Rules of functions (Hive's HMSHandler). Catalog and database names come folded, those of functions as sent:
    Spark looks for its own spelling in the message that a function does not exist.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, database: DatabaseName, function: Function) -> None:
        """Raises AlreadyExistsError, InvalidInputError, InvalidObjectError, NotFoundError (of the database)."""
        function = _prepared(function, database)
        function.createTime = self._clock()
        try:
            with self._store.transaction() as work:
                stored = work.databases.find(database)
                if stored is None:
                    raise NotFoundError(f"The database {database} does not exist")
                work.functions.insert(stored.id, function)
                work.record(events.create_function(database, encode_json(function)))
        except AlreadyExistsError:
            raise AlreadyExistsError(f"Function {function.functionName} already exists") from None

    def alter(self, database: DatabaseName, name: str, new: Function, target: DatabaseName) -> None:
        """Replaces a function, its name and database included; its owner, where one is given.

        Raises NotFoundError, InvalidInputError, InvalidObjectError (of the new database, too), AlreadyExistsError (of
        the new name).
        """
        new = _prepared(new, target)
        try:
            with self._store.transaction() as work:
                stored = _found(work, database, name, lock=True)
                old = stored.encoded.decode()
                new.createTime = old.createTime
                if new.ownerName is None:
                    new.ownerName, new.ownerType = old.ownerName, old.ownerType
                home = work.databases.find(target)
                if home is None:
                    raise InvalidObjectError(f"The database {target} does not exist")
                work.functions.update(stored.id, home.id, new)
        except AlreadyExistsError:
            raise AlreadyExistsError(f"Function {target}.{new.functionName} already exists") from None

    def drop(self, database: DatabaseName, name: str) -> None:
        """Raises NotFoundError."""
        with self._store.transaction() as work:
            work.functions.delete(_found(work, database, name, lock=True).id)
            work.record(events.drop_function(database, fold(name)))

    def get(self, database: DatabaseName, name: str) -> EncodedStruct[Function]:
        """Reads a function. Raises NotFoundError."""
        with self._store.read() as work:
            return _found(work, database, name).encoded

    def names(self, database: DatabaseName, pattern: str | None) -> list[str]:
        """Lists names, ascending; empty for an unknown database. `pattern` is a regular expression."""
        with self._store.read() as work:
            return work.functions.names(database, pattern)

    def select(self, of: DatabaseName | str, pattern: str | None = None) -> EncodedList[Function]:
        """Lists those of a database, or of a catalog that is named, by their names."""
        with self._store.read() as work:
            return work.functions.select(of, pattern)


def _prepared(function: Function, database: DatabaseName) -> Function:
    """Completes and checks (HMSHandler.validateFunctionInfo). Raises InvalidInputError, InvalidObjectError."""
    if function.functionName is None:
        raise NullError("Function name cannot be null.")
    function.catName, function.dbName, function.functionName = (
        database.catalog,
        database.name,
        fold(function.functionName),
    )
    check_object_name("function", function.functionName)
    if function.className is None:
        raise InvalidObjectError("Function class name cannot be null")
    if function.ownerType is None or function.functionType is None:
        raise NullError("Function type and owner type cannot be null.")
    function.resourceUris = [uri for uri in function.resourceUris or [] if uri is not None]
    return function


def _found(work: UnitOfWork, database: DatabaseName, name: str, *, lock: bool = False) -> StoredFunction:
    stored = work.functions.find(database, fold(name), lock=lock)
    if stored is None:
        raise NotFoundError(f"Function {database}.{name} does not exist")
    return stored
