"""Delegation tokens and master keys that servers of Hive's keep here."""

from __future__ import annotations

from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import required
from metastore.services.service import Service


class TokenService(Service):
    """Rules of tokens (Hive's ObjectStore). What is kept is opaque text."""

    def add(self, identifier: str | None, token: str | None) -> bool:
        """Adds a token; false: the identifier has one, which stays. Raises InvalidInputError without both."""
        if identifier is None or token is None:
            raise InvalidInputError("A token needs an identifier and a text")
        with self._store.transaction() as work:
            return work.tokens.insert(identifier, token)

    def remove(self, identifier: str) -> bool:
        """Returns false where there was none."""
        with self._store.transaction() as work:
            return work.tokens.delete(identifier)

    def get(self, identifier: str) -> str:
        """Returns the token, empty where there is none: the wire has no other way to say it."""
        with self._store.read() as work:
            return work.tokens.find(identifier) or ""

    def identifiers(self) -> list[str]:
        """Lists identifiers, ascending."""
        with self._store.read() as work:
            return work.tokens.identifiers()

    def add_key(self, key: str | None) -> int:
        """Returns the key's number. Raises InvalidInputError without a key."""
        text = required(key, InvalidInputError("A master key needs a text"))
        with self._store.transaction() as work:
            return work.tokens.insert_key(text)

    def update_key(self, number: int, key: str | None) -> None:
        """Raises NotFoundError, InvalidInputError without a key."""
        text = required(key, InvalidInputError("A master key needs a text"))
        with self._store.transaction() as work:
            if not work.tokens.update_key(number, text):
                raise NotFoundError(f"No key found with keyId: {number}")

    def remove_key(self, number: int) -> bool:
        """Returns false where there was none."""
        with self._store.transaction() as work:
            return work.tokens.delete_key(number)

    def keys(self) -> list[str]:
        """Returns the oldest first."""
        with self._store.read() as work:
            return work.tokens.keys()
