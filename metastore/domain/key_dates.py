"""Dates and hours in the values of partition columns, in a format of Java's letters such as `yyyy-MM-dd`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

_FIELDS: Final = ("y", "M", "d", "H")
_NAMES: Final = ("year", "month", "day", "hour")
_TOKEN: Final = re.compile(r"y+|M+|d+|H+|'[^']*'|[^A-Za-z'\\]")
_DEFAULTS: Final = {1: "yyyy-MM-dd", 2: "yyyy,M", 3: "yyyy,M,d", 4: "yyyy,M,d,H"}
_DIGITS: Final = (4, 2, 2, 2)


class Part(NamedTuple):
    """Where the digits of a field are: the column (a position among those of the format), the first character (from 1),
    and the number of digits; 0 means that the whole value is a number of one or two digits.
    """

    column: int
    start: int
    width: int


class Format(NamedTuple):
    """The format of one column: its fields, by letter, and a regular expression for its values."""

    fields: dict[str, tuple[int, int]]
    pattern: str


def read_dates(text: str) -> list[Format]:
    """Parses the formats of several columns, which are separated by commas.

    Raises ValueError unless the fields of all columns are the year, or year and month, or so on down to the hour, each
    once, with two digits (the year four). A single letter is allowed as the whole format of a column.
    """
    formats = [_format(part.strip()) for part in text.split(",")]
    found = [letter for form in formats for letter in form.fields]
    if sorted(found, key=_FIELDS.index) != list(_FIELDS[: len(found)]) or not found:
        raise ValueError(text)
    return formats


def _format(text: str) -> Format:
    if text in _FIELDS[1:]:
        return Format({text: (1, 0)}, "^[0-9]{1,2}$")
    fields: dict[str, tuple[int, int]] = {}
    pattern, at, end = "", 1, 0
    while end < len(text):
        token = _TOKEN.match(text, end)
        if token is None:
            raise ValueError(text)
        end, word = token.end(), token[0]
        if (letter := word[0]) in _FIELDS:
            width = _DIGITS[_FIELDS.index(letter)]
            if len(word) != width or letter in fields:
                raise ValueError(text)
            fields[letter] = (at, width)
            pattern += f"[0-9]{{{width}}}"
            at += width
        else:
            literal = word.strip("'")
            pattern += re.escape(literal)
            at += len(literal)
    if not fields:
        raise ValueError(text)
    return Format(fields, f"^{pattern}$")


class KeyDates:
    """The times that the partition columns of a table name. A value names a period, such as a day: its age counts from
    the end of the period, in UTC.

    Attributes:
        parts: where the digits of year, month, day and hour are, in this order, as far as the format has them.
        columns: positions of the columns among all partition columns, from 0.
        patterns: for each of these columns, a regular expression that its values match.
    """

    def __init__(self, columns: Sequence[int], form: str | None) -> None:
        """`form`: None for the default, which depends on the number of columns. Raises ValueError."""
        formats = read_dates(form if form is not None else _DEFAULTS[len(columns)])
        if len(formats) != len(columns):
            raise ValueError(form)
        at = {letter: (number, *place) for number, one in enumerate(formats) for letter, place in one.fields.items()}
        self.columns = list(columns)
        self.parts = [Part(*at[letter]) for letter in _FIELDS if letter in at]
        self.patterns = [one.pattern for one in formats]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyDates):
            return NotImplemented
        return (self.columns, self.parts, self.patterns) == (other.columns, other.parts, other.patterns)

    __hash__ = None  # type: ignore[assignment]

    @property
    def unit(self) -> str:
        """The period that a value names: year, month, day or hour."""
        return _NAMES[len(self.parts) - 1]

    def cutoff(self, now: float, seconds: int) -> str:
        """Returns the digits of the first period that is not older than this number of seconds.

        `now`: seconds since 1970. Digits are those of `parts`, joined: 20240131 for a day.
        """
        try:
            moment = datetime.fromtimestamp(now, UTC) - timedelta(seconds=seconds)
        except OverflowError:  # before the year 1
            moment = datetime.min.replace(tzinfo=UTC)
        digits = f"{moment.year:04d}{moment.month:02d}{moment.day:02d}{moment.hour:02d}"
        return digits[: sum(_DIGITS[: len(self.parts)])]
