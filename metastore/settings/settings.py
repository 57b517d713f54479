"""The settings of one server, complete and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Final

from metastore.errors import ConfigurationError
from metastore.machine import connection_default, worker_defaults
from metastore.settings import sections
from metastore.settings.advanced import Advanced
from metastore.settings.directories import absolute, default_data_dir
from metastore.settings.kinds import problem
from metastore.settings.sections import Section
from metastore.settings.sources import Sourced, read
from metastore.settings.urls import database_url, safe_url, with_password_source

SECTIONS: Final[tuple[type[Section], ...]] = (
    sections.Listeners,
    sections.Tls,
    sections.Authentication,
    sections.Authorization,
    sections.Database,
    sections.Warehouse,
    sections.Retention,
    sections.Limits,
    sections.Observability,
    sections.Events,
    sections.Following,
    Advanced,
)
"""The sections in the order of help, reference and `metastore config show`."""


@dataclass(frozen=True, kw_only=True)
class Settings(
    Advanced,
    sections.Following,
    sections.Events,
    sections.Observability,
    sections.Limits,
    sections.Retention,
    sections.Warehouse,
    sections.Database,
    sections.Authorization,
    sections.Authentication,
    sections.Tls,
    sections.Listeners,
):
    """Settings of one server. The bases are `SECTIONS`, the last one first: dataclasses collect fields that way."""

    _sources: ClassVar[Mapping[str, str]] = {}  # by name of setting; `from_sources` replaces it

    def __post_init__(self) -> None:
        """Resolves relative paths and derived defaults. Raises ConfigurationError for a value out of range."""
        optional = bool(self.database_url and self.warehouse)
        data_dir = default_data_dir(optional=optional) if self.data_dir == sections.UNSET else self.data_dir
        data_dir = data_dir.expanduser().absolute()
        workers, memory_limit = worker_defaults(self.workers, self.memory_limit, embedded=self.embedded)
        connections = self.max_connections or connection_default()
        completed = {
            "data_dir": data_dir,
            "warehouse": absolute(self.warehouse or str(data_dir / "warehouse")),
            "database_url": self._complete_url(self.database_url),
            "database_direct_url": self._complete_url(self.database_direct_url),
            "workers": workers,
            "memory_limit": memory_limit,
            "max_connections": connections,
            "max_connections_per_address": self.max_connections_per_address or max(1, connections * 4 // 5),
            "max_calls_per_address": self.max_calls_per_address or max(1, self.max_threads * 3 // 4),
        }
        for setting in fields(self):
            if wrong := problem(setting, getattr(self, setting.name)):
                raise ConfigurationError(f"{setting.name} {wrong}")
        for name, value in completed.items():
            object.__setattr__(self, name, value)

    def _complete_url(self, url: str | None) -> str | None:
        if url is None:
            if self.database_url is None and (self.database_password_file or self.database_password_command):
                raise ConfigurationError("a password of the database is set, but database_url is not: set it")
            return None
        url = database_url(url, read_only=self.read_only)
        return with_password_source(url, self.database_password_file, self.database_password_command)

    @classmethod
    def load(cls, options: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
        """Reads the configuration file, the variables `METASTORE_*` and the options of a command.

        Options win over variables, and variables over the file. Raises ConfigurationError.

        Args:
            options: values by name of setting, None for an option that is absent. `config` is the path of the file.
            environment: default: of this process.
        """
        return cls.from_sources(read(SECTIONS, options or {}, environment))

    @classmethod
    def from_sources(cls, sourced: Mapping[str, Sourced]) -> Settings:
        """Returns the settings of `metastore.settings.sources.read`. Raises ConfigurationError."""
        settings = cls(**{name: each.value for name, each in sourced.items()})
        object.__setattr__(settings, "_sources", {name: each.source for name, each in sourced.items()})
        return settings

    def origin(self, name: str) -> str:
        """Returns where a setting comes from, for the end of an error message; empty for a default."""
        source = self._sources.get(name)
        return f" ({source})" if source else ""

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths and URIs of `allowed_locations`, absolute."""
        return tuple(absolute(part.strip()) for part in self.allowed_locations.split(",") if part.strip())

    @property
    def embedded(self) -> bool:
        """True if the server runs its own PostgreSQL in `data_dir`."""
        return self.database_url is None

    @property
    def safe_url(self) -> str:
        """The database URL for logs and messages, without its password."""
        return safe_url(self.database_url) if self.database_url else f"embedded PostgreSQL in {self.data_dir}"


def settings_of(section: type[Section]) -> tuple[Field[Any], ...]:
    """Returns the settings of a section."""
    return fields(section)  # type: ignore[arg-type] # each section is a dataclass


def all_settings() -> tuple[Field[Any], ...]:
    """Returns all settings, in the order of their sections."""
    return tuple(setting for section in SECTIONS for setting in settings_of(section))
