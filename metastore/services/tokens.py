"""Delegation tokens and master keys that Hive's own servers store in the metastore."""

from __future__ import annotations

from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import required
from metastore.services.service import Service


class TokenService(Service):
    """Rules of tokens (Hive's ObjectStore). Tokens and keys are opaque texts."""

    def add(self, identifier: str | None, token: str | None) -> bool:
        """Stores a token. If the identifier has a token, keeps it and returns false. Raises InvalidInputError."""
        if identifier is None or token is None:
            raise InvalidInputError("A token needs an identifier and a text")
        with self._store.transaction() as work:
            return work.tokens.insert(identifier, token)

    def remove(self, identifier: str) -> bool:
        """Deletes a token. Returns false if there was none."""
        with self._store.transaction() as work:
            return work.tokens.delete(identifier)

    def get(self, identifier: str) -> str:
        """Returns the token, or an empty text if there is none: the reply cannot be null."""
        with self._store.read() as work:
            return work.tokens.find(identifier) or ""

    def identifiers(self) -> list[str]:
        """Lists identifiers, ascending."""
        with self._store.read() as work:
            return work.tokens.identifiers()

    def add_key(self, key: str | None) -> int:
        """Stores a key and returns its number. Raises InvalidInputError without a key."""
        text = required(key, InvalidInputError("A master key needs a text"))
        with self._store.transaction() as work:
            return work.tokens.insert_key(text)

    def update_key(self, number: int, key: str | None) -> None:
        """Replaces a key. Raises NotFoundError, InvalidInputError without a key."""
        text = required(key, InvalidInputError("A master key needs a text"))
        with self._store.transaction() as work:
            if not work.tokens.update_key(number, text):
                raise NotFoundError(f"No key found with keyId: {number}")

    def remove_key(self, number: int) -> bool:
        """Deletes a key. Returns false if there was none."""
        with self._store.transaction() as work:
            return work.tokens.delete_key(number)

    def keys(self) -> list[str]:
        """Lists keys, the oldest first."""
        with self._store.read() as work:
            return work.tokens.keys()
