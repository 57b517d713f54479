"""Handlers of settings, and of the caller's name."""

from __future__ import annotations

from metastore.errors import InvalidInputError
from metastore.operations.answer_filters import configuration_value
from metastore.operations.operation import from_fields, operation
from metastore.services.callers import CallerService
from metastore.services.config import ConfigService
from thrift_idl.gen.hive_metastore.ttypes import ConfigValSecurityException


class ConfigHandlers:
    """`set_ugi`, `getMetaConf`, `setMetaConf`, `get_config_value`, `flushCache`."""

    def __init__(self, config: ConfigService, callers: CallerService) -> None:
        self._config = config
        self._callers = callers

    @operation(None, quota_exempt=True)
    def set_ugi(self, user: str | None, groups: list[str] | None) -> list[str]:
        return self._callers.set_ugi(user, groups)

    @operation(None, quota_exempt=True)
    def getMetaConf(self, key: str) -> str:  # noqa: N802 - the wire's name
        return self._config.meta_conf(key)

    @operation(None, quota_exempt=True)
    def setMetaConf(self, key: str, value: str) -> None:  # noqa: N802 - the wire's name
        self._config.set_meta_conf(key, value)

    @operation("name", answer_filter=from_fields(configuration_value, "defaultValue"), quota_exempt=True)
    def get_config_value(self, name: str | None, default: str | None) -> str:
        try:
            return self._config.value(name, default)
        except InvalidInputError as error:
            raise ConfigValSecurityException(str(error)) from None

    @operation(None, quota_exempt=True)
    def flushCache(self) -> None:  # noqa: N802 - the wire's name
        """Does nothing: no cached value can be out of date."""
