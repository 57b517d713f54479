"""Sizes and durations as people write them: `400MiB`, `30s`."""

from __future__ import annotations

import re
from typing import Final

_SIZES: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b?)", re.IGNORECASE)
_DURATIONS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SYNONYMS: Final = {
    **dict.fromkeys(("millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "minute", "minutes"), "min"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}
_PART: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Returns the bytes of `1048576`, `1024k`, `1MB`, `1MiB` or `1Mi`. Raises ValueError.

    A unit is a power of 1024 in each spelling, as in PostgreSQL and Spark.
    """
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise ValueError(f"{text!r} is not a size")
    return int(float(size[1]) * _SIZES[size[2].lower()]) if size[2] else int(size[1])


def show_size(size: int) -> str:
    """Returns a text that `parse_size` reads as `size`: in the largest unit that divides it."""
    for unit in ("T", "G", "M", "K"):
        factor = _SIZES[unit.lower()]
        if size and size % factor == 0:
            return f"{size // factor}{unit}iB"
    return str(size)


def parse_duration(text: str) -> float:
    """Returns the seconds of `30`, `0.5`, `500ms`, `30s`, `5min`, `1h 30min`, `7d` or `2w`. Raises ValueError."""
    text = text.strip()
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        return float(text)
    seconds, end = 0.0, 0
    while end < len(text):
        part = _PART.match(text, end)
        unit = part[2].lower() if part else ""
        unit = _SYNONYMS.get(unit, unit)
        if part is None or unit not in _DURATIONS:
            raise ValueError(f"{text!r} is not a duration")
        seconds, end = seconds + float(part[1]) * _DURATIONS[unit], part.end()
    if not end:
        raise ValueError(f"{text!r} is not a duration")
    return seconds


def show_duration(seconds: float) -> str:
    """Returns a text that `parse_duration` reads as `seconds`: in the largest unit that divides it."""
    for unit in ("d", "h", "min", "s"):
        factor = _DURATIONS[unit]
        if seconds and seconds % factor == 0:
            return f"{seconds / factor:.0f}{unit}"
    milliseconds = seconds * 1000
    return f"{milliseconds:.0f}ms" if seconds and milliseconds == int(milliseconds) else f"{seconds!r}s"
