"""Kerberos: SASL GSSAPI (RFC 4752), with protection of what follows, and short names of principals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import KERBEROS, AuthenticationFailedError, Identity

PROTECTIONS: Final = {"authentication": 1, "integrity": 2, "privacy": 4}
"""Hadoop's names (hadoop.rpc.protection) of SASL's auth, auth-int and auth-conf, with their bits."""
_TOKEN, _ACCEPTOR_SUBKEY = b"\x05\x04", 0x04  # of wrapped messages (RFC 4121, 4.2.6.2)
_BUFFER: Final = 0x10000 - 1  # largest piece that is promised to be taken; 3 bytes
_RULE: Final = re.compile(
    r"RULE:\[(?P<count>\d+):(?P<form>[^]]*)\](?:\((?P<match>.*)\))?"
    r"(?:s/(?P<old>(?:[^/\\]|\\.)*)/(?P<new>(?:[^/\\]|\\.)*)/(?P<all>g)?)?(?:/?(?P<lower>L))?"
)


class ShortNames:
    """Maps principals to users by Hadoop's rules (hadoop.security.auth_to_local), the first that fits."""

    def __init__(self, rules: str) -> None:
        """`rules`: RULE:[n:form](match)s/old/new/g/L and DEFAULT, with blanks between. Raises ConfigurationError."""
        self._rules = [self._parsed(part) for part in rules.split()]

    def user(self, principal: str, realm: str) -> str:
        """Returns the short name; `realm`: the server's own. Raises AuthenticationFailedError where no rule fits."""
        name, _, theirs = principal.rpartition("@")
        parts = name.split("/")
        for rule in self._rules:
            found = _default(parts, theirs, realm) if rule is None else _applied(rule, parts, theirs)
            if found:
                if re.search(r"[@/]", found):
                    raise AuthenticationFailedError(
                        f"A rule of METASTORE_KERBEROS_AUTH_TO_LOCAL makes no short name of {principal}: {found}"
                    )
                return found
        raise AuthenticationFailedError(f"No rule of METASTORE_KERBEROS_AUTH_TO_LOCAL applies to {principal}")

    def _parsed(self, text: str) -> re.Match[str] | None:
        if text == "DEFAULT":
            return None
        found = _RULE.fullmatch(text)
        try:
            if found is None:
                raise re.error("it is not RULE:[n:form](match)s/old/new/")
            re.compile(found["match"] or "")
            re.compile(found["old"] or "")
        except re.error as error:
            raise ConfigurationError(f"kerberos_auth_to_local: {text!r} cannot be read: {error}") from error
        return found


def _default(parts: list[str], theirs: str, realm: str) -> str | None:
    return parts[0] if theirs == realm and len(parts) in (1, 2) else None


def _applied(rule: re.Match[str], parts: list[str], realm: str) -> str | None:
    if len(parts) != int(rule["count"]):
        return None
    values = [realm, *parts]

    def component(found: re.Match[str]) -> str:
        number = int(found[1])
        return values[number] if number < len(values) else ""

    text = re.sub(r"\$(\d+)", component, rule["form"])
    if rule["match"] is not None and not re.fullmatch(rule["match"], text):
        return None
    if rule["old"] is not None:
        new = re.sub(r"\$(\d+)", r"\\\1", rule["new"])
        text = re.sub(rule["old"], new, text, count=0 if rule["all"] else 1)
    return text.lower() if rule["lower"] else text


class Kerberos:
    """The server's keys. Needs the package gssapi, and MIT's or Heimdal's library."""

    def __init__(self, keytab: Path | None, rules: str, protection: str) -> None:
        """Raises ConfigurationError."""
        try:
            import gssapi
        except ImportError:
            raise ConfigurationError(
                "authentication by kerberos needs the package gssapi: run  pip install 'metastore[kerberos]'"
            ) from None
        if keytab is None:
            raise ConfigurationError("authentication by kerberos needs the server's keys: set kerberos_keytab")
        names = {part.strip() for part in protection.split(",")}
        if not names <= set(PROTECTIONS):
            raise ConfigurationError(
                f"kerberos_protection is {protection!r}, but must be some of {', '.join(PROTECTIONS)}"
            )
        self.offer = sum(PROTECTIONS[name] for name in names)
        self.short_names = ShortNames(rules)
        self.gssapi: Any = gssapi
        # Nobody is named: any key serves, also that of a balancer's name. A replay is caught without a cache on disk:
        # the last step is protected by a key that we choose anew for each exchange.
        store = {"keytab": str(keytab), "rcache": "none:"}
        try:
            self.credentials: Any = gssapi.Credentials(usage="accept", store=store)
        except gssapi.exceptions.GSSError as error:
            raise ConfigurationError(f"kerberos_keytab {keytab} cannot be used: {_text(error)}") from error

    def begin(self) -> Gssapi:
        """Begins the exchange with one client."""
        return Gssapi(self)


class Gssapi:
    """One client's exchange, and the protection that was agreed in it."""

    def __init__(self, kerberos: Kerberos) -> None:
        self.identity: Identity | None = None
        self.protects = False
        self._kerberos = kerberos
        self._errors: Any = kerberos.gssapi.exceptions.GSSError
        self._context: Any = kerberos.gssapi.SecurityContext(creds=kerberos.credentials, usage="accept")
        # An error is told in words, as Hive's server does: Java's clients do not read Kerberos' own message of it.
        self._context.__DEFER_STEP_ERRORS__ = False
        self._offered = False
        self._encrypts = False

    def step(self, response: bytes) -> bytes:
        """Raises AuthenticationFailedError with Java's words for it."""
        try:
            if self._offered:
                return self._choose(self._context.unwrap(response).message)
            if not self._context.complete:
                token: bytes = self._context.step(response) or b""
                if token or not self._context.complete:
                    return token
            self._offered = True
            offer = bytes([self._kerberos.offer]) + _BUFFER.to_bytes(3, "big")
            return self._with_our_key(bytes(self._context.wrap(offer, encrypt=False).message))
        except self._errors as error:
            raise AuthenticationFailedError(f"GSS initiate failed: {_text(error)}") from error

    def wrap(self, data: bytes) -> bytes:
        return bytes(self._context.wrap(data, encrypt=self._encrypts).message)

    def unwrap(self, data: bytes) -> bytes:
        """Raises AuthenticationFailedError for what was changed, or is not as agreed."""
        try:
            message, encrypted, _ = self._context.unwrap(data)
        except self._errors as error:
            raise AuthenticationFailedError(f"a piece was changed on its way: {_text(error)}") from error
        if self._encrypts and not encrypted:
            raise AuthenticationFailedError("a piece is not encrypted, as was agreed")
        return bytes(message)

    @staticmethod
    def _with_our_key(token: bytes) -> bytes:
        """Returns what is wrapped, if with a key that we have chosen for this exchange (RFC 4121, 4.2.2): where the
        client's is used, who has recorded an exchange could show it again. Raises AuthenticationFailedError.
        """
        if token[:2] != _TOKEN or not token[2] & _ACCEPTOR_SUBKEY:
            raise AuthenticationFailedError(
                "GSS initiate failed: who listens could show it again: the client must ask for mutual authentication "
                "(javax.security.sasl.server.authentication=true), and the keys must be AES, not RC4 or DES"
            )
        return token

    def _choose(self, choice: bytes) -> bytes:
        """Takes the client's choice, and whom it wants to be: itself, or nobody else."""
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
                "A protected client must ask for sequence detection (RFC 4752): else calls can be doubled"
            )
        principal = str(self._context.initiator_name)
        realm = str(self._context.target_name).rpartition("@")[2]
        user = self._kerberos.short_names.user(principal, realm)
        wanted = choice[4:].decode(errors="replace")
        if wanted not in ("", user, principal):
            raise AuthenticationFailedError(
                f"{principal} may not come in as {wanted[:100]}: leave the authorization id empty"
            )
        self.protects, self._encrypts = chosen > 1, chosen == PROTECTIONS["privacy"]
        self.identity = Identity(user, KERBEROS)
        return b""


def _text(error: Any) -> str:
    return " ".join(str(error.gen_message()).split())
