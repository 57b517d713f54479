"""Policies of table care: properties of a table, its database or its catalog.

The table's own value of a property takes precedence over its database's, and that over the catalog's. Names without the
prefix `care.` are Hive's, and have Hive's meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from metastore.domain.key_dates import KeyDates, read_dates
from metastore.domain.names import fold_column
from metastore.errors import InvalidObjectError

DISCOVER: Final = "discover.partitions"
DISCOVERY_SCOPE: Final = "care.discovery.scope"
DISCOVERY_DROP: Final = "care.discovery.drop"
CREATED_PERIOD: Final = "partition.retention.period"
PREFIX: Final = "care."
KEY_PERIOD: Final = "care.retention.period"
KEY: Final = "care.retention.key"
FORMAT: Final = "care.retention.format"
COMPACTION: Final = "care.compaction"
TARGET_SIZE: Final = "care.compaction.target.size"
MIN_FILES: Final = "care.compaction.min.files"
QUIET_PERIOD: Final = "care.compaction.quiet.period"
STATISTICS: Final = "care.statistics"
LAYOUT: Final = "care.layout"
UNREAD_PERIOD: Final = "care.unread.period"

OFF, REPORT, ON = "off", "report", "on"
ALL, NEWER = "all", "newer"
TABLE, DATABASE, CATALOG, DEFAULT = "table", "database", "catalog", "default"
"""Origins of a value."""

_NUMBER: Final = re.compile(r"(-?[0-9]{1,18})\s*([a-z]*)")
_DAY: Final = 86_400
_SMALL: Final = 0.75
"""Share of the target size below which a file is small, as in AWS Glue."""
_SIZES: Final = {"": 1, "b": 1} | {
    spelling: 1 << 10 * power
    for power, letter in enumerate("kmgtp", start=1)
    for spelling in (letter, f"{letter}b", f"{letter}ib")
}


def read_seconds(text: str) -> int:
    """Returns the seconds of a period by the rules of Hive's TimeValidator: a whole number and a unit, by default
    seconds. Fractions of a second are cut off. Raises ValueError.
    """
    match = _NUMBER.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(text)
    number, unit = int(match[1]), match[2]
    if unit in ("", "l"):
        return number
    for short, long, seconds in (("d", "day", _DAY), ("h", "hour", 3600), ("m", "min", 60), ("s", "sec", 1)):
        if unit == short or unit.startswith(long):
            return number * seconds
    for short, long, parts in (("ms", "msec", 10**3), ("us", "usec", 10**6), ("ns", "nsec", 10**9)):
        if unit == short or unit.startswith(long):
            return abs(number) // parts if number >= 0 else -(abs(number) // parts)
    raise ValueError(text)


def _flag(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError(text)
    return text.strip().lower() == "true"


def _positive_seconds(text: str) -> int:
    seconds = read_seconds(text)
    if seconds < 0:
        raise ValueError(text)
    return seconds


def _size(text: str) -> int:
    match = _NUMBER.fullmatch(text.strip().lower())
    if match is None or match[2] not in _SIZES or not 2**20 <= int(match[1]) * _SIZES[match[2]] <= 2**50:
        raise ValueError(text)
    return int(match[1]) * _SIZES[match[2]]


def _files(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text.strip()) or int(text) < 2:
        raise ValueError(text)
    return int(text)


def _columns(text: str) -> tuple[str, ...]:
    names = tuple(fold_column(name.strip()) for name in text.split(","))
    if not all(names) or len(set(names)) != len(names) or len(names) > 4:
        raise ValueError(text)
    return names


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.strip().lower() not in words:
            raise ValueError(text)
        return text.strip().lower()

    return read


class Property(NamedTuple):
    """A property. `read` parses its text and raises ValueError; `valid` describes valid texts."""

    read: Callable[[str], object]
    valid: str
    meaning: str
    default: str | None = None


_PERIOD: Final = "a period such as 30d, 12h or 90min"
_FORMATS: Final = "a format such as yyyy-MM-dd, yyyyMM or, for several keys, yyyy,MM,dd"
PROPERTIES: Final[Mapping[str, Property]] = {
    DISCOVER: Property(_flag, "true or false", "Partitions are added for new directories."),
    DISCOVERY_SCOPE: Property(
        _one_of(ALL, NEWER),
        "all or newer",
        "Directories that are compared: all, or those after the last partition.",
        ALL,
    ),
    DISCOVERY_DROP: Property(
        _one_of(OFF, REPORT, ON), "off, report or on", "Partitions whose directories are gone are dropped.", OFF
    ),
    CREATED_PERIOD: Property(
        read_seconds, f"{_PERIOD}; 0 means none", "Partitions expire this long after their creation."
    ),
    KEY_PERIOD: Property(
        read_seconds, f"{_PERIOD}; 0 means none", "Partitions expire this long after the time that their key names."
    ),
    KEY: Property(_columns, "one to four partition columns", "The partition columns that name the time."),
    FORMAT: Property(read_dates, _FORMATS, "The format of the values of these columns."),
    COMPACTION: Property(
        _one_of(OFF, REPORT, ON), "off, report or on", "Small files of a partition are merged.", REPORT
    ),
    TARGET_SIZE: Property(_size, "a size of 1mb or more, such as 256mb", "Size of the merged files.", "128mb"),
    MIN_FILES: Property(_files, "2 or more", "Number of small files from which a partition is merged.", "5"),
    QUIET_PERIOD: Property(
        _positive_seconds, _PERIOD, "A partition is merged if nobody has written to it for this long.", "1d"
    ),
    STATISTICS: Property(
        _one_of(OFF, REPORT, ON), "off, report or on", "Missing and outdated statistics are counted.", REPORT
    ),
    LAYOUT: Property(_one_of(OFF, REPORT), "off or report", "Partitions that are too small are reported.", REPORT),
    UNREAD_PERIOD: Property(
        _positive_seconds, f"{_PERIOD}; 0 means never", "A table that nobody has read for this long is reported.", "90d"
    ),
}


def check_properties(
    owner: str,
    new: Mapping[str, str] | None,
    old: Mapping[str, str] | None = None,
    keys: Sequence[str] | None = None,
) -> None:
    """Checks the policies that a client sets on a table, database or catalog.

    Args:
        owner: the object, for the message.
        new: its new properties.
        old: its properties before. A value that stays is not checked: another metastore may have stored it.
        keys: the partition columns of a table, in lower case; None for a database or catalog.

    Raises InvalidObjectError for an invalid value or an unknown name with the prefix `care.`.
    """
    changed = {name: text for name, text in (new or {}).items() if (old or {}).get(name) != text}
    for name, text in changed.items():
        if problem := _problem(name, text):
            raise InvalidObjectError(f"{owner}: {problem}")
    if keys is None or not {KEY, FORMAT, KEY_PERIOD} & changed.keys():
        return
    own = {name: (new or {})[name] for name in (KEY, FORMAT) if name in (new or {})}
    if KEY in own and not _problem(KEY, own[KEY]) and (problem := _key_problem(own[KEY], own.get(FORMAT), keys)):
        raise InvalidObjectError(f"{owner}: {problem}")


def _problem(name: str, text: str) -> str | None:
    known = PROPERTIES.get(name)
    if known is None:
        if not name.startswith(PREFIX):
            return None
        names = ", ".join(sorted(known for known in PROPERTIES if known.startswith(PREFIX)))
        return f"{name} is no policy; the policies are {names}"
    try:
        known.read(text)
    except ValueError:
        return f"{name} is {text!r}; it must be {known.valid}"
    return None


def _key_problem(key: str, form: str | None, keys: Sequence[str]) -> str | None:
    """Returns why partitions of a table with these keys cannot expire by a key, or None."""
    names = _columns(key)
    if missing := [name for name in names if name not in keys]:
        known = f"its partition columns are {', '.join(keys)}" if keys else "the table has no partitions"
        return f"{KEY} is {key!r}, but {missing[0]} is no partition column; {known}"
    count = len(read_dates(form)) if form is not None and not _problem(FORMAT, form) else len(names)
    if count != len(names):
        return f"{FORMAT} is {form!r}, which is for {count} columns, but {KEY} names {len(names)}"
    return None


class Setting(NamedTuple):
    """The value of a policy that applies to a table. `origin`: TABLE, DATABASE, CATALOG or DEFAULT; `problem`: why the
    value has no effect, None if it has.
    """

    name: str
    value: str
    origin: str
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The policies that apply to a table. Periods are in seconds, sizes in bytes; None means that nothing expires."""

    discover: bool = False
    discovery_scope: str = ALL
    discovery_drop: str = OFF
    created_period: int | None = None
    key_period: int | None = None
    dates: KeyDates | None = None
    compaction: str = REPORT
    target_size: int = 128 * 2**20
    min_files: int = 5
    quiet_period: int = _DAY
    statistics: str = REPORT
    layout: str = REPORT
    unread_period: int = 90 * _DAY

    @property
    def small_file(self) -> int:
        """Bytes from which a file is not small."""
        return int(self.target_size * _SMALL)


def resolve(
    keys: Sequence[str],
    table: Mapping[str, str] | None,
    database: Mapping[str, str] | None,
    catalog: Mapping[str, str] | None,
) -> list[Setting]:
    """Returns the policies that apply to a table, in the order of PROPERTIES.

    `keys`: its partition columns; the others are the parameters of the table, its database and its catalog. Invalid
    values, which only another metastore can have stored, are returned with their problem.
    """
    levels = ((TABLE, table or {}), (DATABASE, database or {}), (CATALOG, catalog or {}))
    settings: dict[str, Setting] = {}
    for name, known in PROPERTIES.items():
        origin, text = next(((level, held[name]) for level, held in levels if name in held), (DEFAULT, known.default))
        if text is not None:
            settings[name] = Setting(name, text, origin, _problem(name, text))
    _resolve_key(settings, keys)
    return list(settings.values())


def _resolve_key(settings: dict[str, Setting], keys: Sequence[str]) -> None:
    """Completes the problems of retention by key, whose properties need each other."""
    own = {name: settings[name] for name in (KEY_PERIOD, KEY, FORMAT) if name in settings}
    if not own:
        return
    problem = next((setting.problem for setting in own.values() if setting.problem), None)
    if problem is None and KEY not in own:
        problem = f"{KEY} is not set"
    elif problem is None and KEY_PERIOD not in own:
        problem = f"{KEY_PERIOD} is not set"
    elif problem is None:
        form = own[FORMAT].value if FORMAT in own else None
        problem = _key_problem(own[KEY].value, form, [fold_column(key) for key in keys])
    for name, setting in own.items():
        settings[name] = setting._replace(problem=setting.problem or problem)


def policies(settings: Sequence[Setting], keys: Sequence[str]) -> Policies:
    """Returns the policies that `resolve` has found. Values with a problem have no effect."""
    values = {one.name: PROPERTIES[one.name].read(one.value) for one in settings if one.problem is None}
    texts = {one.name: one.value for one in settings if one.problem is None}
    names = {
        DISCOVER: "discover",
        DISCOVERY_SCOPE: "discovery_scope",
        DISCOVERY_DROP: "discovery_drop",
        COMPACTION: "compaction",
        TARGET_SIZE: "target_size",
        MIN_FILES: "min_files",
        QUIET_PERIOD: "quiet_period",
        STATISTICS: "statistics",
        LAYOUT: "layout",
        UNREAD_PERIOD: "unread_period",
    }
    found: dict[str, Any] = {field: values[name] for name, field in names.items() if name in values}
    for name, field in ((CREATED_PERIOD, "created_period"), (KEY_PERIOD, "key_period")):
        seconds = values.get(name)
        if isinstance(seconds, int) and seconds > 0 and keys:
            found[field] = seconds
    if "key_period" in found:
        folded = [fold_column(key) for key in keys]
        positions = [folded.index(name) for name in _columns(texts[KEY])]
        found["dates"] = KeyDates(positions, texts.get(FORMAT))
    return Policies(**found)
