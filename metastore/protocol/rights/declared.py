"""The rights of every served method. One without a declaration does not start."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.errors import ConfigurationError
from metastore.protocol.methods import Method, served
from metastore.protocol.rights import of_contents, of_objects, of_sessions
from metastore.protocol.rights.rule import Rule

_DECLARED = of_objects.declare | of_contents.declare | of_sessions.declare


def rules(methods: Mapping[str, Method] | None = None) -> dict[str, Rule]:
    """Returns the rule of every served method. Raises ConfigurationError where one is missing, or too many."""
    methods = served() if methods is None else methods
    if undeclared := methods.keys() - _DECLARED.keys():
        raise ConfigurationError(f"No rights are declared for {', '.join(sorted(undeclared))}")
    if unknown := _DECLARED.keys() - methods.keys():
        raise ConfigurationError(f"Rights are declared for what is not served: {', '.join(sorted(unknown))}")
    return {name: _rule(method) for name, method in methods.items()}


def _rule(method: Method) -> Rule:
    bound, rest = _DECLARED[method.name]
    return Rule(needs=tuple(bind(method) for bind in bound), **rest)
