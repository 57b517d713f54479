"""A small client of the metastore: connections with fail-over, retry of what is safe to retry, frozen dataclasses."""

from spark_client.wire.client import MetastoreClient
from spark_client.wire.connection import Address, parse_uris

__all__ = ["Address", "MetastoreClient", "parse_uris"]
