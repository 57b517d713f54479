"""Every setting of the server. Only this package reads the server's environment and its configuration file."""

from metastore.settings.settings import SECTIONS, Settings, all_settings, settings_of
from metastore.settings.sources import PREFIX, environment_without_settings
from metastore.settings.urls import database_url, safe_url

__all__ = [
    "PREFIX",
    "SECTIONS",
    "Settings",
    "all_settings",
    "database_url",
    "environment_without_settings",
    "safe_url",
    "settings_of",
]
