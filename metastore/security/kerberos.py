"""Kerberos: SASL GSSAPI (RFC 4752) with integrity or privacy protection, and short names of principals."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import KERBEROS, AuthenticationFailedError, Identity, is_name

PROTECTIONS: Final = {"authentication": 1, "integrity": 2, "privacy": 4}
"""Hadoop's names (hadoop.rpc.protection) of SASL's auth, auth-int and auth-conf, and their bits."""
_TOKEN, _ACCEPTOR_SUBKEY = b"\x05\x04", 0x04  # in the header of wrapped messages (RFC 4121, 4.2.6.2)
_BUFFER: Final = 0x10000 - 1  # maximum receive buffer announced to clients (3 bytes)
_RULE: Final = re.compile(
    r"RULE:\[(?P<count>\d+):(?P<form>[^]]*)\](?:\((?P<match>.*)\))?"
    r"(?:s/(?P<old>(?:[^/\\]|\\.)*)/(?P<new>(?:[^/\\]|\\.)*)/(?P<all>g)?)?(?:/?(?P<lower>L))?"
)


class ShortNames:
    """Maps principals to users with Hadoop's rules (hadoop.security.auth_to_local); the first match wins."""

    def __init__(self, rules: str) -> None:
        """`rules`: RULE:[n:form](match)s/old/new/g/L and DEFAULT, separated by blanks. Raises ConfigurationError."""
        self._rules = [self._parse(part) for part in rules.split()]

    def user(self, principal: str, realm: str) -> str:
        """Returns the short name. `realm`: the server's realm. Raises AuthenticationFailedError if no rule matches, or
        for a principal with escaped characters, as Hadoop does: rules would read an escaped @ or / as a separator.
        """
        if "\\" in principal or not is_name(principal):
            raise AuthenticationFailedError(f"The principal {principal} has special characters in a name")
        name, _, client_realm = principal.rpartition("@")
        parts = name.split("/")
        for rule in self._rules:
            user = _default(parts, client_realm, realm) if rule is None else _apply(rule, parts, client_realm)
            if user:
                if re.search(r"[@/]", user):
                    raise AuthenticationFailedError(
                        f"A rule of METASTORE_KERBEROS_AUTH_TO_LOCAL does not produce a short name for {principal}: "
                        f"{user}"
                    )
                return user
        raise AuthenticationFailedError(f"No rule of METASTORE_KERBEROS_AUTH_TO_LOCAL applies to {principal}")

    def _parse(self, text: str) -> re.Match[str] | None:
        if text == "DEFAULT":
            return None
        rule = _RULE.fullmatch(text)
        try:
            if rule is None:
                raise re.error("it is not RULE:[n:form](match)s/old/new/")
            re.compile(rule["match"] or "")
            re.compile(rule["old"] or "")
        except re.error as error:
            raise ConfigurationError(f"kerberos_auth_to_local: {text!r} is invalid: {error}") from error
        return rule


def _default(parts: list[str], client_realm: str, realm: str) -> str | None:
    return parts[0] if client_realm == realm and len(parts) in (1, 2) else None


def _apply(rule: re.Match[str], parts: list[str], realm: str) -> str | None:
    if len(parts) != int(rule["count"]):
        return None
    values = [realm, *parts]

    def component(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return values[number] if number < len(values) else ""

    text = re.sub(r"\$(\d+)", component, rule["form"])
    if rule["match"] is not None and not re.fullmatch(rule["match"], text):
        return None
    if rule["old"] is not None:
        new = re.sub(r"\$(\d+)", r"\\\1", rule["new"])
        text = re.sub(rule["old"], new, text, count=0 if rule["all"] else 1)
    return text.lower() if rule["lower"] else text


class Kerberos:
    """The server's credentials. Needs the package gssapi and the Kerberos library of MIT or Heimdal."""

    def __init__(self, keytab: Path | None, rules: str, protection: str) -> None:
        """Raises ConfigurationError."""
        try:
            import gssapi
        except ImportError:
            raise ConfigurationError(
                "authentication by kerberos needs the package gssapi: run  pip install 'metastore[kerberos]'"
            ) from None
        if keytab is None:
            raise ConfigurationError("authentication by kerberos needs kerberos_keytab, the server's keys")
        names = {part.strip() for part in protection.split(",")}
        if not names <= set(PROTECTIONS):
            raise ConfigurationError(f"kerberos_protection {protection!r} must list some of {', '.join(PROTECTIONS)}")
        self.offer = sum(PROTECTIONS[name] for name in names)
        self.short_names = ShortNames(rules)
        self.gssapi: Any = gssapi
        # Without a name, any key of the keytab is accepted, also that of a load balancer's name. The replay cache on
        # disk is off: a replayed exchange fails at its last step, which is protected by a new key (`_require_own_key`).
        store = {"keytab": str(keytab), "rcache": "none:"}
        try:
            self.credentials: Any = gssapi.Credentials(usage="accept", store=store)
        except gssapi.exceptions.GSSError as error:
            raise ConfigurationError(f"kerberos_keytab {keytab} cannot be used: {_text(error)}") from error
        # Of the keytab's first key. A client chooses the key: with keys of two realms, its realm would be ours.
        self.realm = str(self.credentials.name).rpartition("@")[2]

    def start(self) -> Gssapi:
        """Starts an exchange."""
        return Gssapi(self)


class Gssapi:
    """One exchange, and the protection that was negotiated in it."""

    def __init__(self, kerberos: Kerberos) -> None:
        self.identity: Identity | None = None
        self.protects = False
        self._kerberos = kerberos
        self._errors: Any = kerberos.gssapi.exceptions.GSSError
        self._context: Any = kerberos.gssapi.SecurityContext(creds=kerberos.credentials, usage="accept")
        # Errors are raised here and sent as text, as Hive does: Java clients ignore the error token of Kerberos.
        self._context.__DEFER_STEP_ERRORS__ = False
        self._offer_sent = False
        self._encrypts = False

    def step(self, response: bytes) -> bytes:
        """Processes a token (`Mechanism.step`). Errors have the texts of Java's implementation."""
        try:
            if self._offer_sent:
                return self._choose(self._context.unwrap(response).message)
            if not self._context.complete:
                token: bytes = self._context.step(response) or b""
                if token or not self._context.complete:
                    return token
            self._offer_sent = True
            offer = bytes([self._kerberos.offer]) + _BUFFER.to_bytes(3, "big")
            return self._require_own_key(bytes(self._context.wrap(offer, encrypt=False).message))
        except self._errors as error:
            raise AuthenticationFailedError(f"GSS initiate failed: {_text(error)}") from error

    def wrap(self, data: bytes) -> bytes:
        return bytes(self._context.wrap(data, encrypt=self._encrypts).message)

    def unwrap(self, data: bytes) -> bytes:
        """Raises AuthenticationFailedError if the data was modified, or not encrypted although that was negotiated."""
        try:
            message, encrypted, _ = self._context.unwrap(data)
        except self._errors as error:
            raise AuthenticationFailedError(f"a message was modified in transit: {_text(error)}") from error
        if self._encrypts and not encrypted:
            raise AuthenticationFailedError("a message is not encrypted as negotiated")
        return bytes(message)

    @staticmethod
    def _require_own_key(token: bytes) -> bytes:
        """Returns a wrapped token if its key was chosen by this server (RFC 4121, 4.2.2).

        With a key of the client, an attacker who has recorded an exchange could replay it. Raises
        AuthenticationFailedError.
        """
        if token[:2] != _TOKEN or not token[2] & _ACCEPTOR_SUBKEY:
            raise AuthenticationFailedError(
                "GSS initiate failed: the exchange could be replayed: the client must request mutual authentication "
                "(javax.security.sasl.server.authentication=true), and the keys must be AES, not RC4 or DES"
            )
        return token

    def _choose(self, choice: bytes) -> bytes:
        """Checks the client's choice of protection and its authorization id, which must be the user itself."""
        chosen = choice[0] if len(choice) >= 4 else 0
        if chosen not in PROTECTIONS.values() or not chosen & self._kerberos.offer:
            raise AuthenticationFailedError(
                "No common protection layer between client and server (METASTORE_KERBEROS_PROTECTION)"
            )
        if (
            chosen > 1
            and not self._context.actual_flags & self._kerberos.gssapi.RequirementFlag.out_of_sequence_detection
        ):
            raise AuthenticationFailedError(
                "A client with integrity or privacy must request sequence detection (RFC 4752): otherwise calls could "
                "be replayed"
            )
        principal = str(self._context.initiator_name)
        user = self._kerberos.short_names.user(principal, self._kerberos.realm)
        authorization_id = choice[4:].decode(errors="replace")
        if authorization_id not in ("", user, principal):
            raise AuthenticationFailedError(
                f"{principal} cannot log in as {authorization_id[:100]}: leave the authorization id empty"
            )
        self.protects, self._encrypts = chosen > 1, chosen == PROTECTIONS["privacy"]
        self.identity = Identity(user, KERBEROS, expires_at=time.time() + self._context.lifetime)
        return b""


def _text(error: Any) -> str:
    return " ".join(str(error.gen_message()).split())
