"""User-defined functions: name, class and resources."""

from __future__ import annotations

from metastore.domain import events
from metastore.domain.names import DatabaseName, check_object_name, fold
from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.encoding.json import encode_json
from metastore.errors import AlreadyExistsError, InvalidObjectError, NotFoundError, NullArgumentError
from metastore.services.rules.lookup import required, taken
from metastore.services.service import ClockedService
from metastore.storage.repositories.functions import StoredFunction
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Function


class FunctionService(ClockedService):
    """Rules of functions (Hive's HMSHandler). Catalog and database names are in lower case.

    Function names are as sent: Spark searches for its own spelling in the message that a function does not exist.
    """

    def create(self, database: DatabaseName, function: Function) -> None:
        """Creates a function.

        Raises AlreadyExistsError, InvalidInputError, InvalidObjectError, NotFoundError (the database does not exist).
        """
        function = _prepared(function, database)
        function.createTime = self._clock()
        exists = AlreadyExistsError(f"Function {function.functionName} already exists")
        with taken(exists), self._store.transaction() as work:
            missing = NotFoundError(f"The database {database} does not exist")
            work.functions.insert(required(work.databases.find(database), missing).id, function)
            work.record(events.create_function(database, encode_json(function)))

    def alter(self, database: DatabaseName, name: str, new: Function, target: DatabaseName) -> None:
        """Replaces a function, including its name and database. Without a new owner, it keeps its owner.

        Raises NotFoundError, InvalidInputError, InvalidObjectError (also if the new database does not exist),
        AlreadyExistsError (the new name is taken).
        """
        new = _prepared(new, target)
        exists = AlreadyExistsError(f"Function {target}.{new.functionName} already exists")
        with taken(exists), self._store.transaction() as work:
            stored = _get(work, database, name, lock=True)
            old = stored.encoded.decode()
            new.createTime = old.createTime
            if new.ownerName is None:
                new.ownerName, new.ownerType = old.ownerName, old.ownerType
            missing = InvalidObjectError(f"The database {target} does not exist")
            work.functions.update(stored.id, required(work.databases.find(target), missing).id, new)

    def drop(self, database: DatabaseName, name: str) -> None:
        """Drops a function. Raises NotFoundError."""
        with self._store.transaction() as work:
            work.functions.delete(_get(work, database, name, lock=True).id)
            work.record(events.drop_function(database, fold(name)))

    def get(self, database: DatabaseName, name: str) -> EncodedStruct[Function]:
        """Reads a function. Raises NotFoundError."""
        with self._store.read() as work:
            return _get(work, database, name).encoded

    def names(self, database: DatabaseName, pattern: str | None) -> list[str]:
        """Lists names, ascending; none if the database does not exist. `pattern`: a regular expression."""
        with self._store.read() as work:
            return work.functions.names(database, pattern)

    def select(self, scope: DatabaseName | str, pattern: str | None = None) -> EncodedList[Function]:
        """Lists the functions of a database or (a name) of a catalog."""
        with self._store.read() as work:
            return work.functions.select(scope, pattern)


def _prepared(function: Function, database: DatabaseName) -> Function:
    """Completes and checks (HMSHandler.validateFunctionInfo). Raises InvalidInputError, InvalidObjectError."""
    if function.functionName is None:
        raise NullArgumentError("Function name cannot be null.")
    function.catName, function.dbName = database.catalog, database.name
    function.functionName = fold(function.functionName)
    check_object_name("function", function.functionName)
    if function.className is None:
        raise InvalidObjectError("Function class name cannot be null")
    if function.ownerType is None or function.functionType is None:
        raise NullArgumentError("Function type and owner type cannot be null.")
    function.resourceUris = [uri for uri in function.resourceUris or [] if uri is not None]
    return function


def _get(work: UnitOfWork, database: DatabaseName, name: str, *, lock: bool = False) -> StoredFunction:
    missing = NotFoundError(f"Function {database}.{name} does not exist")
    return required(work.functions.find(database, fold(name), lock=lock), missing)
