"""What the audit trail has of a call: who, from where, what, of which objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from metastore.context import AuditNote, Caller, caller
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.domain.permissions import AnyNeed, DependentsNeed, FunctionNeed, GrantNeed, Need, PlaceNeed, RoleNeed
from metastore.domain.privileges import CatalogName, PrincipalKind
from metastore.encoding.redaction import redacted_parameters
from metastore.errors import MetastoreError
from metastore.monitoring.logs import one_line
from metastore.protocol.rights.named import Given
from metastore.protocol.rights.rule import Rule
from thrift_idl.gen.hive_metastore.ttypes import GrantRevokeType, HiveObjectPrivilege

Function = Callable[..., Any]
_MOST: Final = 50  # parameters that a line has


class Trail(Protocol):
    """What keeps it: `services.entry.audit`."""

    def write(self, note: AuditNote) -> None: ...


def audited(trail: Trail, method: str, rule: Rule, names: tuple[str, ...], function: Function) -> Function:
    """Returns the function with a line in the trail for each change and each refusal. A change that failed has none."""

    def call(*values: Any) -> Any:
        current = caller.get() or Caller("")
        given = Given(names, list(values))
        current.note = _note(current, method, rule, given) if rule.is_change else None
        try:
            answer = function(*values)
            if current.note and not current.note.is_written:
                trail.write(current.note)
        except MetastoreError as error:
            if error.is_denial:
                note = current.note or _note(current, method, rule, given)
                note.outcome, note.detail = "refused", {"error": str(error)}
                trail.write(note)
            raise
        finally:
            current.note = None
        return answer

    return call


def _note(current: Caller, method: str, rule: Rule, given: Given) -> AuditNote:
    return AuditNote(
        request=f"{os.getpid()}-{current.request}",
        user=current.user,
        real_user=current.real_user,
        address=current.peer,
        method=method,
        objects=_objects(rule, given),
        detail=_parameters(given) | _granted(given),
    )


def _objects(rule: Rule, given: Given) -> list[str]:
    try:
        found = [_object(need) for needs in rule.needs for need in needs(given)]
    except (MetastoreError, AttributeError, TypeError):  # what the handler refuses, too
        return []
    return list(dict.fromkeys(text for text in found if text))


def _object(need: AnyNeed) -> str | None:
    match need:
        case Need(what) | GrantNeed(what):
            return _name(what)
        case PlaceNeed(table=TableName() as what) | DependentsNeed(what):
            return _name(what)
        case PlaceNeed(database):
            return _name(database)
        case FunctionNeed(database, name):
            return f"{_name(database)}.{name}"
        case RoleNeed(role):
            return f"role {role}"
    return None


def _name(what: Any) -> str | None:
    if isinstance(what, TableName | DatabaseName):
        return str(what) if what.catalog == DEFAULT_CATALOG else f"@{what.catalog}#{what}"
    return f"@{what}" if isinstance(what, CatalogName) else None


def _parameters(given: Given) -> dict[str, str]:
    """Returns the parameters of what is made or changed; of secrets, the names."""
    found: dict[str, str] = {}
    for struct in _structs(vars(given).values()):
        parameters = getattr(struct, "parameters", None)
        if isinstance(parameters, dict):
            found |= {one_line(name): one_line(value) for name, value in redacted_parameters(parameters).items()}
    return dict(list(found.items())[:_MOST])


def _granted(given: Given) -> dict[str, str]:
    """Returns, of a call that grants or revokes, who gets or loses what, of which object."""
    values = vars(given)
    asked = values.get("request") or values.get("grantRequest")
    bag = getattr(asked, "privileges", None) or values.get("privileges")
    rights = [_right(one) for one in getattr(bag, "privileges", None) or () if one is not None]
    role = getattr(asked, "roleName", None) or values.get("role_name")
    who = getattr(asked, "principalName", None) or values.get("principal_name")
    if role and who:
        holder = getattr(asked, "principalType", None) or values.get("principal_type")
        rights.append(f"role {role}: {_principal(holder, who)}")
    if not rights:
        return {}
    kind = getattr(asked, "requestType", None)  # a method of its own says it by its name
    change = "grant" if kind == GrantRevokeType.GRANT else "revoke" if kind == GrantRevokeType.REVOKE else None
    return {"rights": one_line("; ".join(rights))} | ({"change": change} if change else {})


def _right(one: HiveObjectPrivilege) -> str:
    what, info = one.hiveObject, one.grantInfo
    names = (what.catName, what.dbName, what.objectName, *(what.partValues or ()), what.columnName) if what else ()
    on = ".".join(name for name in names if name) or "everything"
    option = " with grant option" if info and info.grantOption else ""
    return f"{info.privilege if info else None} on {on}: {_principal(one.principalType, one.principalName)}{option}"


def _principal(kind: int | None, name: str | None) -> str:
    known = PrincipalKind(kind).name.lower() if kind in list(PrincipalKind) else "principal"
    return f"{known} {name}"


def _structs(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        yield value
        for inner in ("table", "newDb", "new_tbl"):
            if (struct := getattr(value, inner, None)) is not None:
                yield struct
