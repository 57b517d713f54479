"""The hook: a client of the metastore with the settings of a connection."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from airflow.sdk import BaseHook

from metastore.airflow.link import Link, links
from metastore.airflow.settings import CONNECTION_TYPE, DEFAULT_CONNECTION, HTTP, Settings
from metastore.client import MetastoreClient
from metastore.client.errors import ClientError
from metastore.errors import MetastoreError


class MetastoreHook(BaseHook):
    """A connection of the type `metastore`, or of Airflow's type `hive_metastore`.

    Its host is `host`, `host,host2` or `thrift://host:9083,thrift://host2:9083`; login and password authenticate. The
    extra options are `http`, the addresses of the HTTP ports, and the fields of `metastore.client.Credentials`.
    """

    conn_name_attr = "metastore_conn_id"
    default_conn_name = DEFAULT_CONNECTION
    conn_type = CONNECTION_TYPE
    hook_name = "Metastore"

    def __init__(self, metastore_conn_id: str = DEFAULT_CONNECTION, **kwargs: Any) -> None:
        """`metastore_conn_id`: the name of the connection."""
        super().__init__(**kwargs)
        self.metastore_conn_id = metastore_conn_id

    @cached_property
    def settings(self) -> Settings:
        """The settings of the connection. Raises ClientError, InvalidInputError."""
        connection = self.get_connection(self.metastore_conn_id)
        return Settings.of(connection, connection.extra_dejson)

    @cached_property
    def client(self) -> MetastoreClient:
        """A thread-safe client with all methods of the metastore."""
        return MetastoreClient(self.settings.uris, user=self.settings.user, credentials=self.settings.credentials)

    def get_conn(self) -> MetastoreClient:
        """Returns `client`."""
        return self.client

    def test_connection(self) -> tuple[bool, str]:
        """Returns whether a server answers, and a text for the user."""
        try:
            databases = self.client.methods.get_all_databases()
        except (ClientError, MetastoreError) as error:
            return False, str(error)
        return True, f"The metastore answers: {len(databases)} databases"

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Returns the fields of the connection's form."""
        return {
            "hidden_fields": ["schema"],
            "relabeling": {"host": "Host, or thrift://host:9083,thrift://host2:9083"},
            "placeholders": {"port": "9083", "extra": f'{{"{HTTP}": "http://host:9180"}}'},
        }


async def link_of(name: str) -> Link:
    """Returns what the triggers of this process share for a connection."""
    return await links().get(name, _settings)


async def _settings(name: str) -> Settings:
    connection = await BaseHook.aget_connection(name)
    return Settings.of(connection, await connection.aextra_dejson())  # extra_dejson blocks the triggerer
