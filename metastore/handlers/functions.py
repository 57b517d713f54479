"""Handlers of functions."""

from __future__ import annotations

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, pattern_regex
from metastore.encoding.binary import EncodedStruct
from metastore.errors import (
    AlreadyExistsError,
    InvalidInputError,
    InvalidObjectError,
    NotFoundError,
    NullNameError,
    UndeclaredError,
    VersionDependentError,
)
from metastore.handlers.arguments import database_name, required_database_name
from metastore.operations.answer_filters import function_names, functions, functions_of_database
from metastore.operations.assignments import set_function_owner
from metastore.operations.fields import DatabaseFields, TableFields
from metastore.operations.operation import TARGET, change, from_fields, operation, visible
from metastore.operations.requirements.functions import altered_function, dropped_function, new_function
from metastore.services.functions import FunctionService
from thrift_idl.gen.hive_metastore.ttypes import (
    Function,
    GetAllFunctionsResponse,
    GetFunctionsRequest,
    GetFunctionsResponse,
)

_TABLE = TableFields("dbName", "funcName")
_DATABASE = DatabaseFields("dbName")


class FunctionHandlers:
    """`*_function*`."""

    def __init__(self, functions: FunctionService) -> None:
        self._functions = functions

    @change(
        TableFields("func.dbName", "func.functionName", "func.catName"),
        from_fields(new_function, "func"),
        assignments=from_fields(set_function_owner, "func"),
    )
    def create_function(self, function: Function) -> None:
        if function.dbName is None:
            raise VersionDependentError("Database name in Function cannot be null.", NotFoundError)
        self._functions.create(database_name(function.dbName, function.catName), function)

    @change(_TABLE, from_fields(altered_function, "dbName", "funcName", "newFunc"))
    def alter_function(self, database: str, name: str, function: Function) -> None:
        home = required_database_name(database)
        target = DatabaseName(home.catalog, required_database_name(function.dbName).name)
        try:
            self._functions.alter(home, _function_name(name), function, target)
        except InvalidObjectError as error:
            raise VersionDependentError(str(error), UndeclaredError) from error
        except (AlreadyExistsError, NotFoundError) as error:
            raise InvalidInputError(str(error)) from error

    @change(_TABLE, from_fields(dropped_function, "dbName", "funcName"))
    def drop_function(self, database: str, name: str) -> None:
        self._functions.drop(required_database_name(database), _function_name(name))

    @operation(_DATABASE, visible)
    def get_function(self, database: str, name: str) -> EncodedStruct[Function]:
        return self._functions.get(required_database_name(database), _function_name(name))

    @operation(_DATABASE, answer_filter=from_fields(function_names, TARGET))
    def get_functions(self, database: str, pattern: str | None) -> list[str]:
        return self._functions.names(required_database_name(database), pattern_regex(pattern))

    @operation(
        DatabaseFields("request.dbName", "request.catalogName"),
        answer_filter=from_fields(functions_of_database, TARGET),
    )
    def get_functions_req(self, request: GetFunctionsRequest) -> GetFunctionsResponse:
        arguments = database_name(request.dbName, request.catalogName), pattern_regex(request.pattern)
        if request.returnNames is False:
            return GetFunctionsResponse(functions=self._functions.select(*arguments))
        return GetFunctionsResponse(function_names=self._functions.names(*arguments))

    @operation(None, answer_filter=functions)
    def get_all_functions(self) -> GetAllFunctionsResponse:
        return GetAllFunctionsResponse(functions=self._functions.select(DEFAULT_CATALOG))


def _function_name(name: str | None) -> str:
    if name is None:
        raise NullNameError("Function name cannot be null.")
    return name
