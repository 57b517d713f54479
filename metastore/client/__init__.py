"""A small client of a metastore: addresses with fail-over, retry of what is safe, frozen dataclasses.

`with connect("thrift://host:9083") as client: client.get_table("db", "t")`; docs/reference/client.md has more.
"""

from metastore.client.client import MetastoreClient, connect
from metastore.client.connection import Address, parse_uris
from metastore.client.credentials import Credentials

__all__ = ["Address", "Credentials", "MetastoreClient", "connect", "parse_uris"]
