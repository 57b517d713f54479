"""Java's classes and lists, as Py4J gives them at the least cost."""

from __future__ import annotations

from typing import Any

from py4j.java_collections import JavaList


def java_class(jvm: Any, name: str) -> Any:
    """Returns a class by its full name.

    By attributes, Py4J would look for each package of the name as a class, in every jar of the class path.
    """
    return getattr(jvm, name)


def members(given: Any) -> Any:
    """Returns Java's lists as Python's, also those within; all else as it is.

    Iterating over one asks until Java raises, and PySpark then asks for each class that the exception may be of.
    """
    return [members(given[index]) for index in range(len(given))] if isinstance(given, JavaList) else given
