"""Opens a source by its address."""

from __future__ import annotations

from metastore.errors import InvalidInputError
from metastore.importing.sources.connections import connect
from metastore.importing.sources.database_source import DatabaseSource
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_source import ThriftSource
from metastore.settings import safe_url

_DATABASES = ("postgresql", "postgres", "mysql", "mariadb")


def open_source(address: str) -> Source:
    """Connects to a source: `thrift://host:port`, or the URL of its database.

    Raises InvalidInputError, ConfigurationError (no database of a metastore), UnavailableError.
    """
    scheme = address.partition("://")[0].partition("+")[0].lower()
    if scheme == "thrift":
        return ThriftSource(address)
    if scheme in _DATABASES:
        return DatabaseSource(connect(address))
    raise InvalidInputError(
        f"{safe_url(address)} is not a source: write thrift://host:9083, or the URL of the source's database, "
        f"postgresql://user:password@host/database or mysql://user:password@host/database. "
        f"Other databases can be read through Thrift"
    )
