"""A small Thrift client of the metastore: fail-over between addresses, retries of safe calls, frozen dataclasses.

Example: `with connect("thrift://host:9083") as client: client.get_table("db", "t")`. See docs/reference/client.md.
"""

from metastore.client.client import MetastoreClient, connect
from metastore.client.connection import Address, parse_uris
from metastore.client.credentials import Credentials

__all__ = ["Address", "Credentials", "MetastoreClient", "connect", "parse_uris"]
