"""Handlers of delegation tokens and master keys."""

from __future__ import annotations

from metastore.operations.operation import administrator, change, operation
from metastore.services.delegation import DelegationService
from metastore.services.tokens import TokenService


class TokenHandlers:
    """`*_token*`, `*_master_key*`."""

    def __init__(self, tokens: TokenService, delegation: DelegationService) -> None:
        self._tokens = tokens
        self._delegation = delegation

    @change(None, served_read_only=True)
    def get_delegation_token(self, owner: str | None, renewer: str | None) -> str:
        return self._delegation.issue(owner, renewer)

    @change(None, served_read_only=True)
    def renew_delegation_token(self, token: str | None) -> int:
        return self._delegation.renew(token)

    @change(None, served_read_only=True)
    def cancel_delegation_token(self, token: str | None) -> None:
        self._delegation.cancel(token)

    @change(None, administrator)
    def add_token(self, identifier: str, token: str) -> bool:
        return self._tokens.add(identifier, token)

    @change(None, administrator)
    def remove_token(self, identifier: str) -> bool:
        return self._tokens.remove(identifier)

    @operation(None, administrator)
    def get_token(self, identifier: str) -> str:
        return self._tokens.get(identifier)

    @operation(None, administrator)
    def get_all_token_identifiers(self) -> list[str]:
        return self._tokens.identifiers()

    @change(None, administrator)
    def add_master_key(self, key: str) -> int:
        return self._tokens.add_key(key)

    @change(None, administrator)
    def update_master_key(self, number: int, key: str) -> None:
        self._tokens.update_key(number, key)

    @change(None, administrator)
    def remove_master_key(self, number: int) -> bool:
        return self._tokens.remove_key(number)

    @operation(None, administrator)
    def get_master_keys(self) -> list[str]:
        return self._tokens.keys()
