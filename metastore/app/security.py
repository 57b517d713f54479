"""Creates authentication, authorization and the audit trail of a worker from its settings."""

from __future__ import annotations

from collections.abc import Callable

from metastore.domain.privileges import Administrators, Admins
from metastore.errors import ConfigurationError
from metastore.monitoring.audit_stream import audit_handlers, check_audit_stream
from metastore.policy.engine import PolicyEngine
from metastore.security.authenticator import make_authenticator
from metastore.security.digest_md5 import secret_of
from metastore.security.groups import Groups
from metastore.security.proxy_users import ProxyUsers
from metastore.security.token_key import read_token_key
from metastore.services.audit import AuditService
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.policy import PolicyAuthorization
from metastore.services.callers import CallerService
from metastore.services.delegation import DelegationService, TokenLimits
from metastore.services.logins import FailedLoginService
from metastore.settings import Settings
from metastore.storage.unit_of_work import Store
from metastore.warehouse.roots import Roots


class Security:
    """The objects for authentication, authorization and audit.

    `audit` and `rights` are None if the settings turn them off.
    """

    def __init__(
        self, settings: Settings, store: Store, roots: Roots, on_group_failure: Callable[[], object] = lambda: None
    ) -> None:
        """`on_group_failure`: called if the groups of a user cannot be looked up. Raises ConfigurationError."""
        self.groups = Groups(settings, on_group_failure)
        self.proxies = ProxyUsers(settings.proxy_users, self.groups.of)
        self.callers = CallerService(self.groups, self.proxies)
        self.delegation = DelegationService(
            store,
            secret_of,
            self.proxies.may_act,
            TokenLimits(settings.token_renew_interval, settings.token_max_lifetime, settings.max_tokens_per_owner),
            read_token_key(settings.token_key_file) if settings.token_key_file else None,
        )
        self.audit = _audit(settings, store)
        self.authenticator = make_authenticator(
            settings,
            self.delegation.secret,
            self.delegation.alive,
            self.audit.login_failed if self.audit else lambda *_: None,
            FailedLoginService(store),
        )
        self.rights = make_authorization(settings, store, roots)


def check_security_settings(settings: Settings) -> None:
    """Raises ConfigurationError if the settings of authorization and audit cannot be used. Connects to nothing."""
    if settings.audit == "off" and settings.audit_stream:
        raise ConfigurationError("audit_stream needs audit=log or audit=table")
    check_audit_stream(settings.audit_stream)
    if (settings.security_admins or settings.data_admins) and settings.authorization != "grants":
        raise ConfigurationError("security_admins and data_admins need authorization=grants")
    if settings.authorization == "opa":
        _policy_engine(settings)


def _audit(settings: Settings, store: Store) -> AuditService | None:
    if settings.audit == "off":
        return None
    handlers = audit_handlers(settings.audit_stream)
    return AuditService(store, settings.audit_retention if settings.audit == "table" else 0.0, handlers)


def make_authorization(settings: Settings, store: Store, roots: Roots) -> Authorization | None:
    """Returns the authorization of calls; None if everything is allowed."""
    admins = Administrators(
        Admins.parsed(settings.admins), Admins.parsed(settings.security_admins), Admins.parsed(settings.data_admins)
    )
    match settings.authorization:
        case "grants":
            return Authorization(store, admins, roots)
        case "opa":
            return PolicyAuthorization(store, admins, roots, _policy_engine(settings))
    return None


def _policy_engine(settings: Settings) -> PolicyEngine:
    return PolicyEngine(
        settings.opa_url,
        cache_seconds=settings.opa_cache,
        timeout=settings.opa_timeout,
        authorities=settings.opa_ca,
    )
