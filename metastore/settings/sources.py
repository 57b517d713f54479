"""The sources of settings: the configuration file, the environment, and the options of a command."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final

from metastore.environment import unknown_variables
from metastore.errors import ConfigurationError
from metastore.settings.kinds import problem
from metastore.settings.sections import Section
from metastore.settings.urls import safe_url

PREFIX: Final = "METASTORE_"
FILE: Final = "config"
"""Name of the option that names the configuration file."""
OF_COMMANDS: Final = ("uri", "http_url")
"""Names of the options that have a variable and are no settings of the server."""
_OTHER_READERS: Final = (f"{PREFIX}CLIENT_", f"{PREFIX}TEST_")  # the client checks its own variables


@dataclass(frozen=True)
class Sourced:
    """A value of a setting, and the option, variable or file that it comes from."""

    value: Any
    source: str


def variable(name: str) -> str:
    """Returns the environment variable of a setting."""
    return PREFIX + name.upper()


def option(name: str) -> str:
    """Returns the command-line option of a setting."""
    return "--" + name.replace("_", "-")


def environment_without_settings() -> dict[str, str]:
    """Returns the environment without the server's settings, for a child process that gets settings of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def read(
    sections: Sequence[type[Section]], options: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, Sourced]:
    """Returns the values that are set, by name of setting. Raises ConfigurationError, which names the source,
    also for a variable that is no setting.

    Options win over variables of `environment` (default: of this process), and variables over the file.
    """
    environment = os.environ if environment is None else environment
    _reject_unknown_variables(sections, environment)
    values: dict[str, Sourced] = {}
    file = options.get(FILE) or environment.get(variable(FILE))
    if file:
        values.update(_from_file(Path(file), sections))
    for section in sections:
        for setting in fields(section):  # type: ignore[arg-type] # each section is a dataclass
            given = options.get(setting.name)
            if given is not None:
                values[setting.name] = _parsed(setting, given, option(setting.name))
            elif given := environment.get(variable(setting.name)):
                values[setting.name] = _parsed(setting, given, variable(setting.name))
    return values


def _parsed(setting: Field[Any], given: Any, source: str) -> Sourced:
    kind = setting.metadata["kind"]
    hint = ""
    if isinstance(given, str) and given.startswith("tcp://"):  # as for each service, unless this is turned off
        hint = ". Kubernetes sets this variable for a Service of this name: set enableServiceLinks: false"
    read_value = kind.parse if isinstance(given, str) else _unchanged
    return _checked(setting, given, source, read_value, hint)


def _unchanged(value: Any) -> Any:
    return value


def _checked(setting: Field[Any], given: Any, source: str, read_value: Callable[[Any], Any], hint: str) -> Sourced:
    """Reads and checks one value. Raises ConfigurationError, with `hint` if the value has the wrong form."""
    try:
        value = read_value(given)
    except ValueError:
        shown = repr(safe_url(given)) if isinstance(given, str) else json.dumps(given, default=str)
        raise ConfigurationError(f"{source} is {shown}; it must be {setting.metadata['kind'].wanted}{hint}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{source}: {error}") from None
    if wrong := problem(setting, value):
        raise ConfigurationError(f"{source} {wrong}")
    return Sourced(value, source)


def _from_file(file: Path, sections: Sequence[type[Section]]) -> Iterator[tuple[str, Sourced]]:
    """Yields the settings of a TOML file, whose tables are `sections`. Raises ConfigurationError."""
    tables = {section.table: {each.name: each for each in fields(section)} for section in sections}  # type: ignore[arg-type]
    for table, content in _document(file).items():
        if table not in tables or not isinstance(content, dict):
            kind = "table" if isinstance(content, dict) else "setting outside a table"
            raise ConfigurationError(f"{file}: {table!r} is an unknown {kind}{_suggestion(table, tables)}")
        for name, value in content.items():
            if name not in tables[table]:
                raise ConfigurationError(
                    f"{file}: [{table}] has no setting {name!r}{_suggestion(name, tables, tables[table])}"
                )
            yield name, _from_toml(tables[table][name], value, f"{name} in [{table}] of {file}")


def _from_toml(setting: Field[Any], given: Any, source: str) -> Sourced:
    kind, separator = setting.metadata["kind"], setting.metadata["separator"]
    hint = " or an array of texts" if separator else ""
    if isinstance(given, str) and not kind.texts:
        hint = ", without quotes"
    return _checked(setting, given, source, partial(kind.from_toml, separator=separator), hint)


def _document(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read the configuration file {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"the configuration file {file} is not a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the configuration file {file} is not valid TOML: {error}") from None


def _suggestion(name: str, tables: Mapping[str, Mapping[str, Any]], siblings: Mapping[str, Any] | None = None) -> str:
    """Returns the fix for an unknown name: the table that it belongs to, a name that is similar, or the tables."""
    for table, settings in tables.items():
        if name in settings:
            return f"; it belongs to [{table}]"
    if siblings is None and (close := get_close_matches(name, tables, 1)):
        return f"; write [{close[0]}]"
    homes = {setting: table for table, settings in tables.items() for setting in settings}
    if close := get_close_matches(name, [*(siblings or ()), *homes], 1):
        return f"; write {close[0]} in [{homes[close[0]]}]"
    return f"; it has {', '.join(siblings)}" if siblings else f"; the tables are {', '.join(tables)}"


def _reject_unknown_variables(sections: Sequence[type[Section]], environment: Mapping[str, str]) -> None:
    """Raises ConfigurationError for variables that begin as settings do and that nothing reads."""
    known = {variable(each.name) for section in sections for each in fields(section)}  # type: ignore[arg-type]
    known |= {variable(name) for name in (FILE, *OF_COMMANDS)}
    if unknown := list(unknown_variables(environment, PREFIX, known, _OTHER_READERS)):
        raise ConfigurationError("; ".join(unknown))
