"""Names of imports: clients see them, and a source keeps its name when its address changes."""

from __future__ import annotations

import re
from typing import Final

from metastore.errors import InvalidInputError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:]*):?(\d*)")  # matches any text
_USUAL: Final = ("", "9083", "5432", "3306")  # of metastores, PostgreSQL and MySQL
_ACCOUNT: Final = re.compile(r"://[^/?]*@")


def check_name(name: str) -> None:
    """Raises InvalidInputError for a text that is not a name of an import."""
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} is not a name of an import: write up to 63 letters, digits, dots, hyphens and underscores"
        )


def default_name(address: str) -> str:
    """Returns the name of an import from an address without its password: `old` for thrift://old.example.com:9083,
    `db-hive` for postgresql://db.example.com/hive?sslmode=require. It has no domain, user or usual port."""
    scheme, _, rest = without_account(address).partition("://")
    authority, _, path = rest.partition("?")[0].partition("/")
    host, port = _HOST.findall(authority.partition(",")[0])[0]
    label = host if re.fullmatch(r"[\d.]+", host) else host.partition(".")[0]
    parts = [label, "" if port in _USUAL else port, "" if scheme == "thrift" else path]
    name = re.sub(r"[^A-Za-z0-9._]+", "-", "-".join(filter(None, parts))).strip("-._")
    return name[:63] or "source"


def without_account(address: str) -> str:
    """Returns an address without user and password: another user of the same database reads the same source."""
    return _ACCOUNT.sub("://", address)
