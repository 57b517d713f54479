"""Delegation tokens and master keys that Hive servers store here."""

from __future__ import annotations

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert

from metastore.storage.queries.repository import Repository
from metastore.storage.schema.access import delegation_tokens, master_keys


class Tokens(Repository):
    """Queries on tokens and keys."""

    def insert(self, identifier: str, token: str) -> bool:
        """Stores a token; False if the identifier has one already, which is not replaced."""
        statement = insert(delegation_tokens).values(identifier=identifier, token=token).on_conflict_do_nothing()
        return self._connection.execute(statement.returning(delegation_tokens.c.identifier)).first() is not None

    def find(self, identifier: str) -> str | None:
        query = select(delegation_tokens.c.token).where(delegation_tokens.c.identifier == identifier)
        return self._connection.execute(query).scalar_one_or_none()

    def delete(self, identifier: str) -> bool:
        """Deletes a token; False if it does not exist."""
        statement = delete(delegation_tokens).where(delegation_tokens.c.identifier == identifier)
        return self._connection.execute(statement.returning(delegation_tokens.c.identifier)).first() is not None

    def identifiers(self) -> list[str]:
        """Lists identifiers, ascending."""
        query = select(delegation_tokens.c.identifier).order_by(delegation_tokens.c.identifier)
        return list(self._connection.execute(query).scalars())

    def insert_key(self, key: str) -> int:
        """Stores a key, and returns its number."""
        number: int = self._connection.execute(
            insert(master_keys).values(key=key).returning(master_keys.c.id)
        ).scalar_one()
        return number

    def update_key(self, number: int, key: str) -> bool:
        """Replaces a key; False if it does not exist."""
        statement = update(master_keys).where(master_keys.c.id == number).values(key=key).returning(master_keys.c.id)
        return self._connection.execute(statement).first() is not None

    def delete_key(self, number: int) -> bool:
        """Deletes a key; False if it does not exist."""
        statement = delete(master_keys).where(master_keys.c.id == number).returning(master_keys.c.id)
        return self._connection.execute(statement).first() is not None

    def keys(self) -> list[str]:
        """Lists the keys, the oldest first."""
        return list(self._connection.execute(select(master_keys.c.key).order_by(master_keys.c.id)).scalars())
