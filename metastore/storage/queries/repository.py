"""The base class of repositories."""

from __future__ import annotations

from sqlalchemy import Connection


class Repository:
    """Queries on the connection of a unit of work, within its transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
