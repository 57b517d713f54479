"""Details of a call in the audit log: the parameters that it sets, the privileges and roles that it grants."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from metastore.domain.care_record import OUTCOMES
from metastore.domain.privileges import PrincipalKind
from metastore.encoding.redaction import redacted_parameters
from metastore.monitoring.logs import one_line
from thrift_idl.gen.hive_metastore.ttypes import GrantRevokeType, HiveObjectPrivilege, PrivilegeBag
from thrift_idl.gen.metastore.ttypes import CareRecord, TableCommit

_MOST_PARAMETERS: Final = 50


def parameters(*maps: dict[str, str] | None) -> dict[str, str]:
    """Returns the parameters of a new or altered object. The values of secrets are left out."""
    texts: dict[str, str] = {}
    for values in maps:
        if isinstance(values, dict):
            texts |= {one_line(name): one_line(value) for name, value in redacted_parameters(values).items()}
    return dict(islice(texts.items(), _MOST_PARAMETERS))


def committed(commits: Iterable[TableCommit] | None) -> dict[str, str]:
    """Returns the locations of the new metadata of the tables of a commit, by their names."""
    tables = [commit.table for commit in commits or () if commit.table is not None]
    named = {f"{table.dbName}.{table.tableName}": (table.parameters or {}).get("metadata_location") for table in tables}
    return parameters({name: location for name, location in named.items() if location})


def cared(record: CareRecord | None) -> dict[str, str]:
    """Returns what table care has done, in numbers of partitions, and why something was left."""
    if record is None:
        return {}
    numbers = {name: getattr(record, name) for name in (*OUTCOMES, "files", "bytes")}
    texts = {"action": one_line(record.kind or "")} | {name: str(value) for name, value in numbers.items() if value}
    return texts | ({"reason": one_line(record.reason)} if record.reason else {})


def granted(bag: PrivilegeBag | None, request_type: int | None = None) -> dict[str, str]:
    """Returns the privileges that a call grants or revokes, with their objects and principals."""
    privileges = (bag.privileges if bag else None) or ()
    return _changed([_privilege(privilege) for privilege in privileges if privilege is not None], request_type)


def granted_role(
    role: str | None, name: str | None, kind: int | None, request_type: int | None = None
) -> dict[str, str]:
    """Returns the role that a call grants or revokes, and its principal."""
    return _changed([f"role {role}: {_principal(kind, name)}"] if role and name else [], request_type)


def _changed(rights: list[str], request_type: int | None) -> dict[str, str]:
    changes = {GrantRevokeType.GRANT: "grant", GrantRevokeType.REVOKE: "revoke"}
    if not rights:
        return {}
    change = changes.get(request_type) if request_type is not None else None
    return {"rights": one_line("; ".join(rights))} | ({"change": change} if change else {})


def _privilege(privilege: HiveObjectPrivilege) -> str:
    ref, info = privilege.hiveObject, privilege.grantInfo
    names = (ref.catName, ref.dbName, ref.objectName, *(ref.partValues or ()), ref.columnName) if ref else ()
    on = ".".join(name for name in names if name) or "everything"
    option = " with grant option" if info and info.grantOption else ""
    principal = _principal(privilege.principalType, privilege.principalName)
    return f"{info.privilege if info else None} on {on}: {principal}{option}"


def _principal(kind: int | None, name: str | None) -> str:
    known = PrincipalKind(kind).name.lower() if kind in list(PrincipalKind) else "principal"
    return f"{known} {name}"
