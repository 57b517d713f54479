"""Checks which tables may be, or become, transactional (Hive's TransactionalValidationListener)."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.names import DEFAULT_CATALOG
from metastore.errors import InvalidInputError
from metastore.services.rules.tables import EXTERNAL, MANAGED
from thrift_idl.gen.hive_metastore.ttypes import Table

_TRANSACTIONAL, _PROPERTIES = "transactional", "transactional_properties"
_FULL, _INSERT_ONLY = "default", "insert_only"
_ACID_FORMATS = ("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat", "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat")
"""The only formats of Hive that implement AcidInputFormat and AcidOutputFormat."""


def check_new(table: Table) -> None:
    """Normalises the property `transactional` of a new table, as Hive does; removes it if it is false.

    Raises InvalidInputError for other values, and for a table that cannot be transactional.
    """
    if table.catName != DEFAULT_CATALOG:
        return
    value = _taken(table.parameters)
    if value is None or value.lower() == "false":
        return
    if value.lower() != "true":
        raise InvalidInputError(f"'transactional' property of TBLPROPERTIES may only have value 'true': {_name(table)}")
    _check_shape(table)
    table.parameters[_TRANSACTIONAL] = "true"
    _write_properties(table)


def check_changed(old: Table, new: Table) -> None:
    """Permits a table to become transactional, but not to stop being so. Raises InvalidInputError."""
    if new.catName != DEFAULT_CATALOG or not new.parameters:
        return
    before, after = _value(old.parameters, _TRANSACTIONAL), _taken(new.parameters)
    if after is not None and after.lower() == "false":
        after = None
    if after is not None:
        if (old.tableType, new.tableType) == (MANAGED, EXTERNAL):
            raise InvalidInputError(f"{_name(new)} cannot be converted to external table as it is transactional table.")
        new.parameters[_TRANSACTIONAL] = after
    becomes = _says_true(after) and not _says_true(before)
    if becomes:
        _check_shape(new)
    elif (before or "").lower() != (after or "").lower() and not is_insert_only(old.parameters):
        raise InvalidInputError(f"TBLPROPERTIES with 'transactional'='true' cannot be unset: {_name(new)}")
    properties = _value(new.parameters, _PROPERTIES)
    if becomes or (properties is not None and before is None):
        _write_properties(new, added=becomes)
    elif properties is not None and not is_insert_only(old.parameters):
        was = _value(old.parameters, _PROPERTIES)
        if was is None or was.lower() != properties.lower():
            raise InvalidInputError(
                "TBLPROPERTIES with 'transactional_properties' cannot be altered after the table is created"
            )


def is_insert_only(parameters: Mapping[str, str]) -> bool:
    """Returns whether a transactional table is insert-only, and so may have any file format."""
    return (_value(parameters, _PROPERTIES) or "").lower() == _INSERT_ONLY


def _check_shape(table: Table) -> None:
    full = not is_insert_only(table.parameters)
    if full and (table.sd.inputFormat, table.sd.outputFormat) != _ACID_FORMATS:
        raise InvalidInputError(
            f"The table must be stored using an ACID compliant format (such as ORC): {_name(table)}"
        )
    if table.tableType == EXTERNAL:
        raise InvalidInputError(f"{_name(table)} cannot be declared transactional because it's an external table")
    if full and table.sd.sortCols:
        raise InvalidInputError(f"Table {_name(table)} cannot support full ACID functionality since it is sorted.")


def _write_properties(table: Table, *, added: bool = True) -> None:
    """Normalises transactional_properties. `added`: sets the default if there are none."""
    value = (_taken(table.parameters, _PROPERTIES) or "").lower() or (_FULL if added else None)
    if value not in (_FULL, _INSERT_ONLY):
        raise InvalidInputError(
            f"Invalid transactional properties specified for {_name(table)} with the error "
            f"unknown value {value} for transactional_properties"
        )
    table.parameters[_PROPERTIES] = value


def _says_true(value: str | None) -> bool:
    return value is not None and value.lower() == "true"


def _value(parameters: Mapping[str, str], name: str) -> str | None:
    """Reads a parameter; its name may be in any case."""
    return next((value for key, value in parameters.items() if key.lower() == name), None)


def _taken(parameters: dict[str, str], name: str = _TRANSACTIONAL) -> str | None:
    """Removes a parameter and returns its value; its name may be in any case."""
    value = _value(parameters, name)
    for key in [key for key in parameters if key.lower() == name]:
        del parameters[key]
    return value


def _name(table: Table) -> str:
    return f"{table.dbName}.{table.tableName}"
