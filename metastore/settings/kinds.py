"""The kinds of settings: how a value is written in text and in TOML, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, field
from pathlib import Path
from typing import Any, Final

from metastore.settings.units import parse_duration, parse_size, show_duration, show_size

DAY: Final = 86_400.0  # seconds
CENTURY: Final = 3_153_600_000  # seconds


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes:
        name: for the reference.
        wanted: completes "it must be …" in an error.
        parse: reads the text of a variable or option. Raises ValueError.
        native: types of TOML that are the value itself.
        texts: whether `parse` also reads strings in TOML.
        show: returns a text that `parse` reads as the value.
    """

    name: str
    wanted: str
    parse: Callable[[str], Any]
    native: tuple[type, ...] = ()
    texts: bool = True
    show: Callable[[Any], str] = str

    def from_toml(self, value: Any, separator: str) -> Any:
        """Returns the setting of a TOML value. Raises ValueError if it has the wrong type or cannot be parsed.

        An array of strings is joined with `separator`, if the setting is a list.
        """
        if separator and isinstance(value, list) and all(isinstance(each, str) for each in value):
            value = separator.join(value)
        if self.texts and isinstance(value, str):
            return self.parse(value)
        if type(value) in self.native:  # not isinstance: a bool is an int
            return self.parse(str(value)) if self.texts else value
        raise ValueError(value)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


TEXT: Final = Kind("text", "a text", str)
NUMBER: Final = Kind("number", "a whole number", int, (int,), texts=False)
FLAG: Final = Kind("flag", "true or false", _boolean, (bool,), texts=False, show=lambda value: str(value).lower())
PATH: Final = Kind("path", "a path", Path)
SIZE: Final = Kind("size", "a size, such as 400MiB", parse_size, (int,), show=show_size)
DURATION: Final = Kind("duration", "a time, such as 30s", parse_duration, (int, float), show=show_duration)


def text(
    default: str | None,
    help_text: str,
    *,
    choices: tuple[str, ...] = (),
    separator: str = "",
    parse: Callable[[str], str] = str,
    secret: bool = False,
) -> Any:
    """A text. `choices`: the values it may have. `separator`: it is a list, whose elements this separates."""
    kind = TEXT if parse is str else Kind(TEXT.name, TEXT.wanted, parse)
    return _setting(kind, default, help_text, choices=choices, separator=separator, secret=secret)


def number(default: int | None, help_text: str, *, low: int = 1, high: int | None = None) -> Any:
    """A whole number. None: unset, or derived from the machine."""
    return _setting(NUMBER, default, help_text, low=low, high=high)


def size(default: int | None, help_text: str, *, low: int, high: int | None = None) -> Any:
    """A size in bytes."""
    return _setting(SIZE, default, help_text, low=low, high=high)


def duration(default: float, help_text: str, *, low: float = 0.1, high: float = DAY) -> Any:
    """A duration in seconds."""
    return _setting(DURATION, default, help_text, low=low, high=high)


def path(help_text: str, default: Path | None = None) -> Any:
    """The path of a file or directory."""
    return _setting(PATH, default, help_text)


def flag(help_text: str) -> Any:
    """A switch, which is off by default."""
    return _setting(FLAG, False, help_text)  # noqa: FBT003 - the default


def _setting(
    kind: Kind,
    default: Any,
    help_text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    separator: str = "",
    secret: bool = False,
) -> Any:
    metadata = {
        "kind": kind,
        "help": help_text,
        "low": low,
        "high": high,
        "choices": choices,
        "separator": separator,
        "secret": secret,
    }
    return field(default=default, repr=not secret, metadata=metadata)


def shown_default(setting: Field[Any]) -> str:
    """Returns the default of a setting for help texts, empty if it has none or if it is derived."""
    if setting.default in (None, "", Path()):
        return ""
    return str(setting.metadata["kind"].show(setting.default))


def problem(setting: Field[Any], value: Any) -> str:
    """Returns what is wrong with a value of the right type, empty if it may be used."""
    limits = setting.metadata
    low, high, choices = limits["low"], limits["high"], limits["choices"]
    if choices and value not in choices:
        return f"is {value!r}; it must be {', '.join(choices[:-1])} or {choices[-1]}"
    if value is not None and not ((low is None or low <= value) and (high is None or value <= high)):
        show = limits["kind"].show
        allowed = f"from {show(low)} to {show(high)}" if high is not None else f"{show(low)} or more"
        return f"is {show(value)}; it must be {allowed}"
    return ""
