"""The wire methods that are served: every handler in this package that declares an operation."""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module

from metastore import handlers
from metastore.errors import ConfigurationError
from metastore.operations.method import Method, idl_methods, methods_of


@cache
def served() -> dict[str, Method]:
    """Returns every served method by its name.

    Raises ConfigurationError for a wire method without an operation, for an unknown method or field, and for a method
    that two classes serve.
    """
    methods: dict[str, Method] = {}
    known = idl_methods()
    for info in pkgutil.walk_packages(handlers.__path__, f"{handlers.__name__}."):
        module = import_module(info.name)
        for _, handler_class in inspect.getmembers(module, inspect.isclass):
            if handler_class.__module__ != module.__name__:
                continue
            declared = methods_of(info.name.rpartition(".")[2], handler_class, known)
            if duplicates := declared.keys() & methods.keys():
                raise ConfigurationError(f"{', '.join(sorted(duplicates))}: two classes of handlers serve it")
            methods |= declared
    return methods
