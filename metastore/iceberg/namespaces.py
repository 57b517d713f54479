"""Requests of Iceberg's REST protocol that change namespaces, which are databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from metastore.context import ParameterChange, parameter_change
from metastore.domain.names import fold
from metastore.errors import AlreadyExistsError, InvalidOperationError, MetastoreError
from metastore.iceberg.errors import ALREADY_EXISTS, BAD_REQUEST, NO_NAMESPACE, NOT_EMPTY, RestError, rest_error
from metastore.iceberg.reading import Methods, Reader
from metastore.iceberg.repetitions import note_body
from metastore.iceberg.updates import field, texts
from thrift_idl.gen.hive_metastore.ttypes import Database, DropDatabaseRequest, PrincipalType

_LOCATION: Final = "location"
_COMMENT: Final = "comment"
_OWNER: Final = "hive.metastore.database.owner"
_OWNER_TYPE: Final = "hive.metastore.database.owner-type"
_FIELDS: Final = (_LOCATION, _COMMENT, _OWNER, _OWNER_TYPE)
_OWNER_TYPES: Final = {"USER": PrincipalType.USER, "ROLE": PrincipalType.ROLE, "GROUP": PrincipalType.GROUP}


class Namespaces:
    """Answers requests that change namespaces, as the current caller."""

    def __init__(self, methods: Methods, reader: Reader) -> None:
        self._methods, self._reader = methods, reader

    def create(self, catalog: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Creates a database."""
        levels = field(request, "namespace", list)
        if len(levels) != 1 or not isinstance(levels[0], str):
            raise RestError(400, BAD_REQUEST, f"Cannot create namespace {levels}: databases have one level")
        properties = texts(request, "properties") if request.get("properties") is not None else {}
        database = Database(name=levels[0], catalogName=catalog)
        _set(database, properties)
        note_body({"namespace": [fold(levels[0])], "properties": properties})
        try:
            self._methods("create_database", database)
        except AlreadyExistsError:
            raise RestError(409, ALREADY_EXISTS, f"Namespace already exists: {levels[0]}") from None
        except MetastoreError as error:
            raise rest_error(error) from error
        return self._reader.namespace(catalog, [fold(levels[0])])

    def drop(self, catalog: str, namespace: Sequence[str]) -> None:
        """Drops an empty database."""
        database = self._reader.database(catalog, namespace)
        try:
            self._methods(
                "drop_database_req", DropDatabaseRequest(name=database.name, catalogName=catalog, deleteData=True)
            )
        except InvalidOperationError as error:
            kind = NOT_EMPTY if "is not empty" in str(error) else BAD_REQUEST
            status = 409 if kind == NOT_EMPTY else 400
            raise RestError(status, kind, f"Namespace {database.name} cannot be dropped: {error}") from error
        except MetastoreError as error:
            raise rest_error(error, NO_NAMESPACE) from error

    def set_properties(self, catalog: str, namespace: Sequence[str], request: Mapping[str, Any]) -> dict[str, Any]:
        """Sets and removes properties of a database."""
        removals = [] if request.get("removals") is None else field(request, "removals", list)
        updates = texts(request, "updates") if request.get("updates") is not None else {}
        if both := sorted(set(map(str, removals)) & updates.keys()):
            text = f"Keys cannot be updated and removed at once: {', '.join(both)}"
            raise RestError(422, "UnprocessableEntityException", text)
        database = self._reader.database(catalog, namespace)
        present = self._reader.namespace(catalog, namespace)["properties"]
        removed = [key for key in removals if key in present]
        if fixed := [key for key in removed if key in _FIELDS]:
            raise RestError(400, BAD_REQUEST, f"Cannot remove {', '.join(fixed)} of a database: set another value")
        database.parameters = {key: value for key, value in (database.parameters or {}).items() if key not in removed}
        _set(database, updates)
        if _COMMENT not in updates:
            database.description = None  # the present one stays
        missing = [key for key in removals if key not in present]
        answer = {"removed": removed, "updated": list(updates), "missing": missing}
        note_body(answer)
        if removed or updates:
            own = {key: value for key, value in updates.items() if key not in _FIELDS}
            token = parameter_change.set(ParameterChange(own, removed))
            try:
                self._methods("alter_database", f"@{catalog}#{database.name}", database)
            except MetastoreError as error:
                raise rest_error(error, NO_NAMESPACE) from error
            finally:
                parameter_change.reset(token)
        return answer


def _set(database: Database, properties: Mapping[str, str]) -> None:
    """Sets the properties of a database, by the names that Java's HiveCatalog gives them. Raises RestError."""
    rest = dict(properties)
    database.locationUri = rest.pop(_LOCATION, database.locationUri)
    database.description = rest.pop(_COMMENT, database.description)
    database.ownerName = rest.pop(_OWNER, database.ownerName)
    if kind := rest.pop(_OWNER_TYPE, None):
        if kind.upper() not in _OWNER_TYPES:
            raise RestError(400, BAD_REQUEST, f"{_OWNER_TYPE} is not one of {', '.join(_OWNER_TYPES)}: {kind}")
        database.ownerType = _OWNER_TYPES[kind.upper()]
    database.parameters = {**(database.parameters or {}), **rest}
