"""The audit log: user, method, address and objects of each call."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from metastore.context import AuditNote, Caller, caller
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.domain.permissions import (
    DependentsPrivilege,
    FunctionPrivilege,
    GrantOption,
    LocationPrivilege,
    RequiredPrivilege,
    Requirement,
    RoleAdministration,
    WriteAccess,
)
from metastore.domain.privileges import CatalogName
from metastore.errors import MetastoreError, NotFoundError
from metastore.operations.fields import Arguments
from metastore.operations.method import Method


class AuditLog(Protocol):
    """Stores the records: `services.audit`."""

    def write(self, note: AuditNote) -> None: ...

    def write_later(self, note: AuditNote, *, discard: bool = False) -> None: ...


def audited(log: AuditLog, method: Method, function: Callable[[Arguments], Any]) -> Callable[[Arguments], Any]:
    """Returns the function with an audit record for each change and each rejected call. A failed change has no record:
    both are rolled back."""
    is_change = method.operation.is_change

    def answered(arguments: Arguments) -> Any:
        current = caller.get() or Caller("")
        call = current.call
        call.note = _note(current, method, arguments) if is_change else None
        try:
            answer = function(arguments)
            if call.note and not call.note.is_written:
                log.write(call.note)
        except MetastoreError as error:
            is_missing = isinstance(error, NotFoundError)
            if error.is_denial or is_missing:
                note = call.note or _note(current, method, arguments)
                note.outcome, note.detail = "refused", {"error": str(error)}
                if is_missing:  # a call about a hidden object must take as long as one about a missing object
                    log.write_later(note, discard=not error.is_denial)
                else:
                    log.write(note)
            raise
        finally:
            call.note = None
        return answer

    return answered


def _note(current: Caller, method: Method, arguments: Arguments) -> AuditNote:
    return AuditNote(
        request=f"{os.getpid()}-{current.call.request}",
        user=current.user,
        real_user=current.real_user,
        address=current.peer,
        method=method.name,
        objects=_objects(method, arguments),
        detail=method.audit_detail(arguments) if method.audit_detail else {},
    )


def _objects(method: Method, arguments: Arguments) -> list[str]:
    try:
        names = [_object(requirement) for requirement in method.requirements(arguments)]
    except (MetastoreError, AttributeError, TypeError):  # malformed arguments, which the handler rejects
        return []
    return list(dict.fromkeys(name for name in names if name))


def _object(requirement: Requirement) -> str | None:
    match requirement:
        case RequiredPrivilege(securable) | GrantOption(securable):
            return _name(securable)
        case LocationPrivilege(table=TableName() as table) | DependentsPrivilege(table):
            return _name(table)
        case LocationPrivilege(database):
            return _name(database)
        case FunctionPrivilege(database, name):
            return f"{_name(database)}.{name}"
        case RoleAdministration(role):
            return f"role {role}"
        case WriteAccess(query_id):
            return f"write {query_id}"
    return None


def _name(securable: object) -> str | None:
    if isinstance(securable, TableName | DatabaseName):
        return str(securable) if securable.catalog == DEFAULT_CATALOG else f"@{securable.catalog}#{securable}"
    return f"@{securable}" if isinstance(securable, CatalogName) else None
