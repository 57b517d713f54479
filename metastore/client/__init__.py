"""A small Thrift client of the metastore: fail-over between addresses, retries of safe calls, frozen dataclasses.

Example: `with connect("thrift://host:9083") as client: client.get_table("db", "t")`. See docs/reference/client.md.

`dataset`, `read` and `files` read tables without Spark. They need pyarrow: pip install 'metastore[arrow]'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metastore.client.client import MetastoreClient, connect
from metastore.client.connection import Address, parse_uris
from metastore.client.credentials import Credentials

if TYPE_CHECKING:
    from metastore.client.reading.table import TableFile, dataset, files, read

__all__ = [
    "Address",
    "Credentials",
    "MetastoreClient",
    "TableFile",
    "connect",
    "dataset",
    "files",
    "parse_uris",
    "read",
]
_READING = ("TableFile", "dataset", "files", "read")


def __getattr__(name: str) -> Any:
    """Imports pyarrow when a function that needs it is used. Raises ImportError if it is not installed."""
    if name not in _READING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from metastore.client.reading import table
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise ImportError(f"{name} needs pyarrow: run  pip install 'metastore[arrow]'") from None
    return getattr(table, name)
