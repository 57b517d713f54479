"""Redaction of secrets in parameters, which are recognised by name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

REDACTED: Final = "***"
_NAME: Final = re.compile(
    r"passw|secret|credential|(access|private|api|account|shared)[._-]?key|(auth|sas|access|refresh|bearer)[._-]?token",
    re.IGNORECASE,
)
# Lower-case words: every encoded struct with a secret contains at least one. Searching for them takes a microsecond.
_WORDS: Final = (b"passw", b"secret", b"credential", b"key", b"token")


def is_secret(name: str) -> bool:
    """Returns whether the value of a parameter with this name is secret."""
    return _NAME.search(name) is not None


def redacted_parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    """Returns parameters with secret values replaced."""
    return {name: REDACTED if is_secret(name) else value for name, value in parameters.items()}


def restore_secrets(new: dict[str, str] | None, old: Mapping[str, str] | None) -> None:
    """Replaces redacted values in `new` by the stored ones.

    So a client that reads parameters and writes them back does not overwrite secrets that it could not see.
    """
    if not new or not old or REDACTED not in new.values():
        return
    new |= {name: old[name] for name, value in new.items() if value == REDACTED and name in old}


def may_hold_secrets(encoded: bytes) -> bool:
    """Returns whether encoded structs may contain a secret. False is certain."""
    low = encoded.lower()
    return any(word in low for word in _WORDS)


def redact(value: Any) -> int:
    """Replaces secrets in a struct, at any depth; returns their number."""
    if isinstance(value, dict):
        secrets = [name for name, text in value.items() if isinstance(name, str) and isinstance(text, str)]
        secrets = [name for name in secrets if is_secret(name)]
        value.update(dict.fromkeys(secrets, REDACTED))
        return len(secrets) + sum(redact(inner) for inner in value.values() if not isinstance(inner, str))
    if isinstance(value, list | tuple | set):
        return sum(redact(inner) for inner in value if not isinstance(inner, str | int | bytes))
    return sum(redact(getattr(value, name, None)) for name in getattr(value, "__slots__", ()))


def redacted_json(text: str) -> str:
    """Returns JSON text without secrets, including those in nested JSON texts."""
    if not may_hold_secrets(text.encode()):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(_redacted(value), ensure_ascii=False, separators=(",", ":"))


def _redacted(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: REDACTED if isinstance(inner, str) and is_secret(name) else _redacted(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_redacted(inner) for inner in value]
    if isinstance(value, str) and value.startswith(("{", "[")):
        return redacted_json(value)
    return value
