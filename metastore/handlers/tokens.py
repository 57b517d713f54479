"""Delegation tokens and master keys on the wire."""

from __future__ import annotations

from metastore.services.entry.tokens import TokenService


class TokenHandlers:
    """`*_token*`, `*_master_key*`."""

    def __init__(self, tokens: TokenService) -> None:
        self._tokens = tokens

    def get_delegation_token(self, _owner: str, _renewer: str) -> str:
        return self._tokens.issue()

    def renew_delegation_token(self, _token: str) -> str:
        return self._tokens.issue()

    def cancel_delegation_token(self, _token: str) -> None:
        self._tokens.issue()

    def add_token(self, identifier: str, token: str) -> bool:
        return self._tokens.add(identifier, token)

    def remove_token(self, identifier: str) -> bool:
        return self._tokens.remove(identifier)

    def get_token(self, identifier: str) -> str:
        return self._tokens.get(identifier)

    def get_all_token_identifiers(self) -> list[str]:
        return self._tokens.identifiers()

    def add_master_key(self, key: str) -> int:
        return self._tokens.add_key(key)

    def update_master_key(self, number: int, key: str) -> None:
        self._tokens.update_key(number, key)

    def remove_master_key(self, number: int) -> bool:
        return self._tokens.remove_key(number)

    def get_master_keys(self) -> list[str]:
        return self._tokens.keys()
