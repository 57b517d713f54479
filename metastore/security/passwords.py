"""Passwords: SASL PLAIN, checked against a file of hashes, a directory (LDAP), or as a JWT."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from metastore.errors import ConfigurationError, InvalidInputError, NotFoundError
from metastore.identity import PASSWORD, AuthenticationFailedError, Identity

log = logging.getLogger("metastore.security")

_SCHEME: Final = "scrypt"
_COST, _BLOCK, _PARALLEL = 2**14, 8, 1  # 16 MiB and some 40 ms (RFC 7914's parameters N, r, p)
_AT_ONCE: Final = 4  # that are checked in a process: anybody may ask for one, and each takes its 16 MiB
_SALT: Final = 16  # bytes
_LONGEST: Final = 8 * 1024  # bytes of a name or password: a JWT is about one kilobyte
WRONG: Final = "Error validating the login: the user is unknown or the password is wrong"

Check = Callable[[str, str], Identity | None]
"""Who has this name and this password; none: nobody. Raises AuthenticationFailedError, with what may be told."""


class Plain:
    """SASL PLAIN (RFC 4616), as Hive's server takes it: the authorization id may be left out."""

    protects = False

    def __init__(self, checks: Sequence[Check], *, encrypted: bool, without_tls: bool) -> None:
        """Raises AuthenticationFailedError where the connection is not encrypted and must be."""
        if not (encrypted or without_tls):
            raise AuthenticationFailedError(
                "This metastore takes passwords over TLS only: set hive.metastore.use.SSL=true "
                "(METASTORE_ALLOW_PASSWORD_WITHOUT_TLS=false)"
            )
        self.identity: Identity | None = None
        self._checks = checks

    def step(self, response: bytes) -> bytes:
        """Raises AuthenticationFailedError."""
        try:
            fields = response.decode().split("\0")
        except UnicodeDecodeError:
            raise AuthenticationFailedError("SASL PLAIN: the message is not UTF-8") from None
        if len(response) > _LONGEST or len(fields) not in (2, 3):
            raise AuthenticationFailedError("SASL PLAIN: the message is not [authzid] NUL user NUL password")
        for_whom, user, password = ["", *fields][-3:]
        if not user or not password:
            raise AuthenticationFailedError("SASL PLAIN: no user or no password is given")
        for check in self._checks:
            try:
                found = check(user, password)
            except ConfigurationError as error:
                log.error("%s", error)
                raise AuthenticationFailedError(
                    "This metastore cannot check passwords now: its log says why"
                ) from error
            if found:
                if for_whom not in ("", user, found.user):
                    raise AuthenticationFailedError(
                        f"{found.user} may not come in as {for_whom}: leave the authorization id empty"
                    )
                self.identity = found
                return b""
        raise AuthenticationFailedError(WRONG)

    def wrap(self, data: bytes) -> bytes:
        return data

    unwrap = wrap


class PasswordFile:
    """Users and hashes of their passwords, a line each: `name:scrypt$N$r$p$salt$hash`. Read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._seen: tuple[int, int] | None = None
        self._users: dict[str, str] = {}
        self._nobodys = hashed(secrets.token_hex(16))

    def check(self, user: str, password: str) -> Identity | None:
        """Takes as long for users that are not there."""
        stored = self.users().get(user, self._nobodys)
        with self._turns:
            fits = matches(stored, password)
        return Identity(user, PASSWORD) if fits and stored is not self._nobodys else None

    def users(self) -> dict[str, str]:
        """Hashes by name. Raises ConfigurationError where the file cannot be read."""
        try:
            state = self._path.stat()
            with self._lock:
                if self._seen != (state.st_mtime_ns, state.st_ino):
                    self._users = dict(_parsed(self._path, self._path.read_text()))
                    self._seen = state.st_mtime_ns, state.st_ino
                return self._users
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"password file {self._path} cannot be read: {error}") from error

    def add(self, user: str, password: str) -> bool:
        """Gives a user a password; returns false where it had one. Raises InvalidInputError, ConfigurationError."""
        if not user or not password or any(c in user for c in ":\n\r\0") or "\0" in password:
            raise InvalidInputError("a user has a name without colons and line ends, and a password")
        with self._changed() as users:
            new = user not in users
            users[user] = hashed(password)
        return new

    def remove(self, user: str) -> None:
        """Raises NotFoundError, ConfigurationError."""
        with self._changed() as users:
            if users.pop(user, None) is None:
                raise NotFoundError(f"there is no user {user} in {self._path}")

    @contextmanager
    def _changed(self) -> Iterator[dict[str, str]]:
        """Yields the users; what they are then is written, whole or not at all. Others that change them wait."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._successor() as (file, successor):
                users = dict(self.users())
                yield users
                file.truncate()  # somebody may have died at it
                file.writelines(f"{user}:{stored}\n" for user, stored in sorted(users.items()))
                file.flush()
                if self._path.exists():
                    before = self._path.stat()
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                    os.fchmod(file.fileno(), before.st_mode & 0o777)
                os.fsync(file.fileno())
                successor.replace(self._path)
        except OSError as error:
            raise ConfigurationError(f"password file {self._path} cannot be written: {error}") from error

    @contextmanager
    def _successor(self) -> Iterator[tuple[TextIO, Path]]:
        """Yields the file, for its owner alone, that is to take the place of this one; who has it open is alone."""
        path = self._path.with_name(f".{self._path.name}.new")
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "r+") as file:  # noqa: PTH123 - it is open already
                fcntl.flock(file, fcntl.LOCK_EX)
                if _is_at(path, descriptor):
                    try:
                        yield file, path
                    except BaseException:
                        path.unlink()
                        raise
                    return
            # Who was waited for has put it in its place, or given up: the next one is another file.


def hashed(password: str) -> str:
    """Returns a password as it is kept."""
    salt = secrets.token_bytes(_SALT)
    key = hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL)
    return "$".join((_SCHEME, str(_COST), str(_BLOCK), str(_PARALLEL), _text(salt), _text(key)))


def matches(stored: str, password: str) -> bool:
    """Tells whether that is the password of which this was kept."""
    _, cost, block, parallel, salt, key = stored.split("$")
    found = hashlib.scrypt(
        password.encode(), salt=base64.b64decode(salt), n=int(cost), r=int(block), p=int(parallel), maxmem=2**27
    )
    return hmac.compare_digest(found, base64.b64decode(key))


def _is_at(path: Path, descriptor: int) -> bool:
    """Tells whether the file that is open still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _parsed(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, stored = line.rpartition(":")
        if not colon or not stored.startswith(f"{_SCHEME}$") or stored.count("$") != 5:
            raise ConfigurationError(
                f"{path}:{number} is no line of a password file; write it with  metastore users add"
            )
        yield user, stored
