"""Delegation tokens that our servers issued."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.sql.elements import ColumnElement

from metastore.storage.queries.repository import Repository
from metastore.storage.schema.access import issued_tokens

_NEXT = text(
    "SELECT nextval(pg_get_serial_sequence('issued_tokens', 'sequence')), (extract(epoch FROM now()) * 1000)::bigint"
)

_LOCK_OWNER = text("SELECT pg_advisory_xact_lock(hashtext('issued_tokens'), hashtext(:owner))")


class IssuedToken(NamedTuple):
    """A stored token: without its password, but with the secret that verifies it. `latest`: in ms since 1970."""

    secret: bytes
    owner: str
    renewer: str
    real_user: str
    latest: int  # ms since 1970
    alive: bool


class IssuedTokens(Repository):
    """Queries on issued tokens. All times are the database's, so that servers agree."""

    def next(self) -> tuple[int, int]:
        """Returns the number of a new token, and the present time in ms since 1970."""
        sequence, now = self._connection.execute(_NEXT).one()
        return sequence, now

    def insert(
        self,
        sequence: int,
        identifier: bytes,
        secret: bytes,
        names: tuple[str, str, str],
        times: tuple[int, int, int],
    ) -> None:
        """Stores a token.

        Args:
            sequence: its number.
            identifier: its encoded identifier.
            secret: verifies its password.
            names: owner, renewer, real user.
            times: issued, expires unless renewed, latest expiry, in ms since 1970.
        """
        self._connection.execute(
            insert(issued_tokens).values(
                sequence=sequence,
                identifier=identifier,
                secret=secret,
                **dict(zip(("owner", "renewer", "real_user"), names, strict=True)),
                **dict(zip(("issued_at", "expires_at", "latest_at"), map(_moment, times), strict=True)),
            )
        )

    def find(self, identifier: bytes) -> IssuedToken | None:
        """Returns the token with this identifier, even if it has expired; None if there is none."""
        table = issued_tokens.c
        latest = func.floor(func.extract("epoch", table.latest_at) * 1000)
        columns = (table.secret, table.owner, table.renewer, table.real_user, latest, table.expires_at > func.now())
        row = self._connection.execute(select(*columns).where(table.identifier == identifier)).first()
        return IssuedToken._make((*row[:4], int(row[4]), row[5])) if row else None

    def alive(self, identifiers: Collection[bytes]) -> set[bytes]:
        """Returns the identifiers whose tokens exist and have not expired."""
        table = issued_tokens.c
        query = select(table.identifier).where(table.identifier.in_(identifiers), table.expires_at > func.now())
        return {bytes(identifier) for identifier in self._connection.execute(query).scalars()}

    def renew(self, identifier: bytes, seconds: float) -> int:
        """Extends a token by `seconds`, at most to its latest expiry. Returns the expiry in ms since 1970."""
        table = issued_tokens.c
        end = func.least(func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds), table.latest_at)
        statement = update(issued_tokens).where(table.identifier == identifier).values(expires_at=end)
        result = self._connection.execute(statement.returning(func.extract("epoch", table.expires_at) * 1000))
        return int(result.scalar_one())

    def delete(self, identifier: bytes) -> None:
        self._connection.execute(delete(issued_tokens).where(issued_tokens.c.identifier == identifier))

    def delete_expired(self) -> None:
        """Deletes tokens that can no longer be renewed."""
        self._connection.execute(delete(issued_tokens).where(issued_tokens.c.latest_at < func.now()))

    def count(self, owner: str) -> int:
        """Counts an owner's unexpired tokens.

        Serialises with other counts and inserts for this owner until the transaction ends, by an advisory lock.
        """
        self._connection.execute(_LOCK_OWNER, {"owner": owner})
        table = issued_tokens.c
        query = select(func.count()).where(table.owner == owner, table.expires_at > func.now())
        return self._connection.execute(query).scalar_one()

    def revoke(self, *, sequence: int | None = None, owner: str | None = None) -> int:
        """Deletes one token, or all of an owner; returns their number."""
        condition = issued_tokens.c.sequence == sequence if owner is None else issued_tokens.c.owner == owner
        return self._connection.execute(delete(issued_tokens).where(condition)).rowcount

    def all(self) -> Sequence[Sequence[Any]]:
        """Returns number, owner, renewer, real user and the three times of each unexpired token."""
        table = issued_tokens.c
        columns = (table.sequence, table.owner, table.renewer, table.real_user)
        times = (table.issued_at, table.expires_at, table.latest_at)
        query = select(*columns, *times).where(table.expires_at > func.now()).order_by(table.sequence)
        return self._connection.execute(query).all()


def _moment(milliseconds: int) -> ColumnElement[object]:
    return func.to_timestamp(milliseconds / 1000)
