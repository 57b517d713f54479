"""Sinks: the places to which a server sends events, as METASTORE_SINKS names them, and when it repeats a delivery."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from metastore.domain.event_stream import Wanted
from metastore.domain.events import EventType
from metastore.errors import ConfigurationError

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_COMMON: Final = ("database", "table", "type", "details", "attempts", "timeout")
_WEBHOOK: Final = (*_COMMON, "secret_file", "ca_file")
_KAFKA: Final = (*_COMMON, "config_file")
_FORM: Final = "NAME=https://host/path#secret_file=/path&database=sales or NAME=kafka://host:9092,host:9092/topic#type=ADD_PARTITION"

_FIRST_DELAY: Final = 1.0  # seconds before the second attempt; each further delay is twice as long
_LONGEST_DELAY: Final = 300.0
_JITTER: Final = 0.2  # share of a delay by which it is shortened at random, so that sinks do not retry together
LONGEST_RETRY_AFTER: Final = 86_400.0
"""Seconds. A sink that asks for a longer pause gets this one."""


class Sink(NamedTuple):
    """A sink. `address`: the URL of a webhook, or `kafka://broker,broker/topic`. `timeout`: seconds for one attempt.

    `attempts`: deliveries of one event that fail before it becomes a dead letter. Files that are not set are "".
    """

    name: str
    address: str
    wanted: Wanted
    details: bool
    attempts: int
    timeout: float
    secret_file: str
    ca_file: str
    config_file: str

    @property
    def is_kafka(self) -> bool:
        return self.address.startswith("kafka:")

    @property
    def shown_address(self) -> str:
        """The address for logs and lists: its query may be a secret."""
        return self.address.partition("?")[0]


def parse_sinks(text: str) -> tuple[Sink, ...]:
    """Returns the sinks of METASTORE_SINKS, which blanks separate. Raises ConfigurationError."""
    sinks = tuple(map(_sink, text.split()))
    names = [sink.name for sink in sinks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"sinks has {twice} twice: give each sink a name of its own")
    return sinks


def _sink(text: str) -> Sink:
    name, _, rest = text.partition("=")
    address, _, fragment = rest.partition("#")
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"sinks: {_beginning(text)!r} must begin with a name in lower case: {_FORM}")
    try:
        parts = urlsplit(address)
        pairs = parse_qsl(fragment, strict_parsing=bool(fragment), keep_blank_values=True)
        _ = None if parts.scheme == "kafka" else parts.port  # raises ValueError
    except ValueError as error:
        raise ConfigurationError(f"sinks: {name}: {error}; write {_FORM}") from None
    _check_address(name, parts)
    options = _options(name, pairs, _KAFKA if parts.scheme == "kafka" else _WEBHOOK)
    if parts.scheme != "kafka" and not options.get("secret_file"):
        raise ConfigurationError(f"sinks: {name} needs secret_file, the file of the secret that signs its messages")
    database, table = options.get("database", "").lower(), options.get("table", "").lower()
    if table and not database:
        raise ConfigurationError(f"sinks: {name}: table needs the option database")
    types = tuple(each.upper() for each in options.get("type", "").split(",") if each)
    if unknown := next((each for each in types if each not in list(EventType)), None):
        raise ConfigurationError(f"sinks: {name}: there are no events of type {unknown!r}")
    return Sink(
        name=name,
        address=address,
        wanted=Wanted(database or None, table or None, types),
        details=_choice(name, "details", options.get("details", "false"), {"true": True, "false": False}),
        attempts=int(_number(name, "attempts", options.get("attempts", "20"), 1, 1000)),
        timeout=_number(name, "timeout", options.get("timeout", "15"), 0.1, 120),
        secret_file=options.get("secret_file", ""),
        ca_file=options.get("ca_file", ""),
        config_file=options.get("config_file", ""),
    )


def _options(name: str, pairs: Sequence[tuple[str, str]], known: Sequence[str]) -> dict[str, str]:
    """Raises ConfigurationError."""
    options = dict(pairs)
    if unknown := next((option for option in options if option not in known), None):
        raise ConfigurationError(f"sinks: {name} has no option {unknown}; it can have {', '.join(known)}")
    if len(options) < len(pairs):
        raise ConfigurationError(f"sinks: {name} has an option twice: only type can have several values, by commas")
    if wrong := next((option for option, value in pairs if not value.isprintable()), None):
        raise ConfigurationError(f"sinks: {name}: {wrong} has a control character")
    return options


def _check_address(name: str, parts: SplitResult) -> None:
    """Raises ConfigurationError. Does not repeat the address, which may contain a secret."""
    if parts.scheme not in ("http", "https", "kafka") or not parts.netloc:
        raise ConfigurationError(f"sinks: the address of {name} must begin with https://, http:// or kafka://: {_FORM}")
    if not parts.geturl().isascii() or not parts.geturl().isprintable():
        raise ConfigurationError(f"sinks: the address of {name} must be in ASCII: percent-encode other characters")
    if "@" in parts.netloc:
        raise ConfigurationError(f"sinks: the address of {name} must have no user and password; messages are signed")
    if parts.scheme == "kafka" and not _TOPIC.fullmatch(parts.path.removeprefix("/")):
        raise ConfigurationError(f"sinks: the address of {name} must end with a topic: kafka://host:9092/topic")


def _beginning(text: str) -> str:
    """Returns what may be shown of a text that may contain a secret."""
    return re.split("[:?@]", text)[0][:50]


def _choice(name: str, option: str, text: str, choices: dict[str, bool]) -> bool:
    if text not in choices:
        raise ConfigurationError(f"sinks: {name}: {option} is {text!r}; it must be {' or '.join(choices)}")
    return choices[text]


def _number(name: str, option: str, text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise ConfigurationError(f"sinks: {name}: {option} is {text!r}; it must be a number from {low:g} to {high:g}")
    return value


def retry_delay(failed: int, chance: float, asked: float | None = None) -> float:
    """Returns the seconds before the next attempt.

    Args:
        failed: the number of attempts that have failed, at least 1.
        chance: a random number from 0 to 1.
        asked: the pause for which the sink has asked (Retry-After), which is never shortened.
    """
    delay = min(_FIRST_DELAY * 2.0 ** min(failed - 1, 30), _LONGEST_DELAY) * (1 - _JITTER * chance)
    return delay if asked is None else min(max(asked, delay), LONGEST_RETRY_AFTER)


def retry_after(text: str | None, date: str | None, now: float) -> float | None:
    """Returns the seconds of a header Retry-After (RFC 9110, 10.2.3), None if there is none that can be read.

    `date`: the header Date of the answer. A time is compared with it, so that the clocks need not agree. `now`: seconds
    since 1970, used without it.
    """
    if not text:
        return None
    if text.strip().isascii() and text.strip().isdecimal():
        return min(float(text), LONGEST_RETRY_AFTER)
    until = _moment(text)
    if until is None:
        return None
    sent = _moment(date or "") or datetime.fromtimestamp(now, UTC)
    return min(max((until - sent).total_seconds(), 0.0), LONGEST_RETRY_AFTER)


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_rewound(before: str, now: str) -> bool:
    """Returns whether the database was restored to an older moment between two epochs.

    An epoch is the incarnation of the catalog, followed by `:` and a time while the database does not continue what the
    witness has seen (decision 023).
    """
    earlier, present, problem = before.partition(":")[0], now.partition(":")[0], now.partition(":")[2]
    if before == now:
        return False
    return bool(problem) if earlier in (present, "") else True
