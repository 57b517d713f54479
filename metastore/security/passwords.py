"""Passwords: SASL PLAIN, verified with a file of hashes, LDAP, or as a JWT."""

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
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from metastore.addresses import host_of, network_of
from metastore.errors import ConfigurationError, InvalidInputError, NotFoundError
from metastore.identity import (
    PASSWORD,
    AuthenticationFailedError,
    AuthenticationUnavailableError,
    Identity,
    is_name,
)
from metastore.security.ldap import canonical_name
from metastore.security.login_pool import LoginPool
from metastore.security.throttle import LoginThrottle, SharedFailures

log = logging.getLogger("metastore.security")

_SCHEME: Final = "scrypt"
_COST, _BLOCK, _PARALLEL = 2**14, 8, 1  # N, r and p of RFC 7914: 16 MiB and about 40 ms
_MAX_CONCURRENT: Final = 4  # hashes computed at once in a process: any client can cause one, of 16 MiB each
_SALT: Final = 16  # bytes
_MAX_LENGTH: Final = 8 * 1024  # bytes of a name or password: a JWT is about one kilobyte
WRONG: Final = "Error validating the login: the user is unknown or the password is wrong"

Check = Callable[[str, str], Identity | None]
"""Takes name and password; returns the user, or None if they are wrong. Raises AuthenticationFailedError."""


class LoginGuard:
    """Checks passwords in a `LoginPool`, with delays after failures (`LoginThrottle`)."""

    def __init__(self, shared: SharedFailures | None = None) -> None:
        """`shared`: failures that other workers count, too."""
        self._pool = LoginPool()
        self._throttle = LoginThrottle(shared=shared)

    def submit(self, user: str, message: str, peer: str, check: Callable[[], Identity]) -> Future[Identity]:
        """Starts a check, or returns the one that runs for the same `message` (user and password).

        Its future raises AuthenticationFailedError, as this method does while a delay runs.
        """
        user = canonical_name(user) or user  # a directory accepts several spellings
        host = network_of(host_of(peer))
        self._throttle.check(user, host)

        def checked() -> Identity:
            self._throttle.check(user, host)
            has_failed = self._throttle.check_shared(user, host)
            try:
                identity = check()
            except AuthenticationUnavailableError:
                raise
            except AuthenticationFailedError:
                self._throttle.failed(user, host)
                raise
            self._throttle.succeeded(user, host, has_failed=has_failed)
            return identity

        known = self._throttle.knows(user, host)
        # The message has the name as it was sent: a password file may have two users who differ in case only.
        return self._pool.submit((user, host), message, checked, first=known)

    def submit_token(self, message: str, peer: str, check: Callable[[], Identity]) -> Future[Identity]:
        """Starts the check of a JWT. Nobody can guess one, so failures neither count nor delay the claimed user."""
        client = hashlib.sha256(message.encode()).hexdigest(), network_of(host_of(peer))
        return self._pool.submit(client, message, check)


class Plain:
    """SASL PLAIN (RFC 4616). As in Hive, the authorization id may be missing."""

    protects = False
    identity: Identity | None = None  # the result of the check that `step` returns

    def __init__(
        self,
        checks: Sequence[Check],
        guard: LoginGuard,
        *,
        encrypted: bool,
        without_tls: bool,
        peer: str = "",
        is_token: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`is_token`: whether a password is a JWT, which no other check accepts.

        Raises AuthenticationFailedError if the connection must be encrypted and is not.
        """
        if not (encrypted or without_tls):
            raise AuthenticationFailedError(
                "This metastore accepts passwords over TLS only: set hive.metastore.use.SSL=true "
                "(METASTORE_ALLOW_PASSWORD_WITHOUT_TLS=false)"
            )
        self._checks = checks
        self._guard, self._peer, self._is_token = guard, peer, is_token

    def step(self, response: bytes) -> Future[Identity]:
        """Starts the check of the password, and of the authorization id (`Mechanism.step`)."""
        fields = _fields(response)
        _, user, password = fields
        message = "\0".join(fields)
        if self._is_token(password):
            return self._guard.submit_token(message, self._peer, lambda: self._checked(*fields))
        return self._guard.submit(user, message, self._peer, lambda: self._checked(*fields))

    def _checked(self, authorization_id: str, user: str, password: str) -> Identity:
        identity = self._verified(user, password)
        if authorization_id not in ("", user, identity.user):
            raise AuthenticationFailedError(
                f"{identity.user} cannot log in as {authorization_id}: leave the authorization id empty", identity.user
            )
        return identity

    def _verified(self, user: str, password: str) -> Identity:
        for check in self._checks:
            try:
                identity = check(user, password)
            except ConfigurationError as error:
                log.error("%s", error)
                raise AuthenticationUnavailableError(
                    "This metastore cannot check passwords now; see its log", user
                ) from error
            except AuthenticationFailedError as error:
                error.user = error.user or user
                raise
            if identity:
                return identity
        raise AuthenticationFailedError(WRONG, user)

    def wrap(self, data: bytes) -> bytes:
        return data

    unwrap = wrap


def _fields(response: bytes) -> tuple[str, str, str]:
    """Returns authorization id, user and password. Raises AuthenticationFailedError if the message is malformed."""
    try:
        fields = response.decode().split("\0")
    except UnicodeDecodeError:
        raise AuthenticationFailedError("SASL PLAIN: the message is not UTF-8") from None
    if len(response) > _MAX_LENGTH or len(fields) not in (2, 3):
        raise AuthenticationFailedError("SASL PLAIN: the message is not [authzid] NUL user NUL password")
    authorization_id, user, password = ["", *fields][-3:]
    if not user or not password:
        raise AuthenticationFailedError("SASL PLAIN: user or password is missing")
    return authorization_id, user, password


class PasswordFile:
    """A file of users and password hashes, one line each: `name:scrypt$N$r$p$salt$hash`. Reloaded when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._hashing = threading.BoundedSemaphore(_MAX_CONCURRENT)
        self._loaded: tuple[int, int] | None = None
        self._users: dict[str, str] = {}
        self._dummy = hashed(secrets.token_hex(16))

    def check(self, user: str, password: str) -> Identity | None:
        """Verifies a password. Takes the same time for an unknown user, so that the time does not reveal which users
        exist.
        """
        stored = self.users().get(user, self._dummy)
        with self._hashing:
            correct = matches(stored, password)
        if not correct or stored is self._dummy:
            return None
        return Identity(user, PASSWORD, credential=stored)

    def has(self, user: str, stored: str) -> bool:
        """Returns whether the user still has this hash. Raises ConfigurationError if the file is not readable."""
        return self.users().get(user) == stored

    def users(self) -> dict[str, str]:
        """Returns hashes by user. Raises ConfigurationError if the file is not readable."""
        try:
            state = self._path.stat()
            with self._lock:
                if self._loaded != (state.st_mtime_ns, state.st_ino):
                    self._users = dict(_parse(self._path, self._path.read_text()))
                    self._loaded = state.st_mtime_ns, state.st_ino
                return self._users
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"password file {self._path} cannot be read: {error}") from error

    def add(self, user: str, password: str) -> bool:
        """Sets a user's password. Returns whether the user is new. Raises InvalidInputError, ConfigurationError."""
        if not is_name(user) or ":" in user or user.startswith("#") or not password or "\0" in password:
            raise InvalidInputError(
                "a user needs a password, and a name without colons, a # at the beginning, outer blanks, invisible "
                "characters, and characters that NFKC replaces, such as full-width letters"
            )
        with self._modify() as users:
            new = user not in users
            users[user] = hashed(password)
        return new

    def remove(self, user: str) -> None:
        """Removes a user. Raises NotFoundError, ConfigurationError."""
        with self._modify() as users:
            if users.pop(user, None) is None:
                raise NotFoundError(f"user {user} does not exist in {self._path}")

    @contextmanager
    def _modify(self) -> Iterator[dict[str, str]]:
        """Yields the users for modification, then writes them atomically. Concurrent changes wait."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._new_file() as (file, new_path):
                users = dict(self.users())
                yield users
                file.truncate()  # an earlier process may have died while it wrote
                file.writelines(f"{user}:{stored}\n" for user, stored in sorted(users.items()))
                file.flush()
                if self._path.exists():
                    old = self._path.stat()
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                    os.fchmod(file.fileno(), old.st_mode & 0o777)
                os.fsync(file.fileno())
                new_path.replace(self._path)
        except OSError as error:
            raise ConfigurationError(f"password file {self._path} cannot be written: {error}") from error

    @contextmanager
    def _new_file(self) -> Iterator[tuple[TextIO, Path]]:
        """Yields the locked file that will replace this one, readable by its owner only."""
        path = self._path.with_name(f".{self._path.name}.new")
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "r+") as file:  # noqa: PTH123 - os.open sets the mode
                fcntl.flock(file, fcntl.LOCK_EX)
                if _is_at(path, descriptor):
                    try:
                        yield file, path
                    except BaseException:  # also for Ctrl-C: a file with half of the users must not remain
                        path.unlink()
                        raise
                    return
            # The process that held the lock has renamed or removed this file: open the next one.


def hashed(password: str) -> str:
    """Returns the hash of a password in the format of the file. Raises InvalidInputError if it is no valid text."""
    salt = secrets.token_bytes(_SALT)
    try:
        content = password.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError("The password is not valid UTF-8") from error
    key = hashlib.scrypt(content, salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL)
    return "$".join((_SCHEME, str(_COST), str(_BLOCK), str(_PARALLEL), _text(salt), _text(key)))


def matches(stored: str, password: str) -> bool:
    """Returns whether a password matches a stored hash."""
    _, cost, block, parallel, salt, key = stored.split("$")
    computed = hashlib.scrypt(
        password.encode(), salt=base64.b64decode(salt), n=int(cost), r=int(block), p=int(parallel), maxmem=2**27
    )
    return hmac.compare_digest(computed, base64.b64decode(key))


def _is_at(path: Path, descriptor: int) -> bool:
    """Returns whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _parse(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, stored = line.rpartition(":")
        if not colon or not stored.startswith(f"{_SCHEME}$") or stored.count("$") != 5:
            raise ConfigurationError(f"{path}:{number} is not a line of a password file; use  metastore users add")
        yield user, stored
