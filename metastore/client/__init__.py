"""A small client of the metastore: connections with fail-over, retry of what is safe to retry, frozen dataclasses."""

from metastore.client.client import MetastoreClient
from metastore.client.connection import Address, parse_uris

__all__ = ["Address", "MetastoreClient", "parse_uris"]
