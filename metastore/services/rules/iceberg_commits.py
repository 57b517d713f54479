"""Commits of Iceberg tables and views, which are alterations of one parameter (Iceberg's HiveTableOperations)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metastore.errors import ConflictError
from thrift_idl.gen.hive_metastore.ttypes import Table

LOCATION: Final = "metadata_location"
"""Parameter with the location of the current metadata file."""

_PREVIOUS: Final = "previous_metadata_location"
_TYPE: Final = "table_type"
_TYPES: Final = ("iceberg", "iceberg-view")


def modified(key: str, actual: str | None, expected: str | None) -> ConflictError:
    """Returns the error of a compare-and-swap that failed, by whose words Iceberg's Java client knows that it can try
    again (HIVE-26882)."""
    return ConflictError(
        f"The table has been modified. The parameter value for key '{key}' is '{actual}'. "
        f"The expected was value was '{expected}'"
    )


def check_commit(old: Table, new: Table, expected: str | None) -> None:
    """Raises ConflictError for a commit that is not based on the present metadata: it would undo another one.

    Clients that hold a lock send no expected value, and a lock does not keep out clients that take none. All clients
    name the metadata on which their commit is based as the previous one. `expected`: the key of an expected value that
    the alteration names, and that was compared. Registrations, and conversions from and to Hive tables, are no commits.
    """
    before, after = _location(old.parameters), _location(new.parameters or {})
    if expected == LOCATION or None in (before, after) or before == after:
        return
    previous = new.parameters.get(_PREVIOUS)
    if previous != before:
        raise modified(LOCATION, before, previous)


def names_metadata(table: Table) -> str | None:
    """Returns the location of the metadata of an Iceberg table or view; None for other tables."""
    return _location(table.parameters or {})


def _location(parameters: Mapping[str, str]) -> str | None:
    """Returns the location of the metadata of an Iceberg table or view; None for other tables."""
    return parameters.get(LOCATION) if parameters.get(_TYPE, "").lower() in _TYPES else None
