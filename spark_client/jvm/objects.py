"""Access to Java classes and lists with as few Py4J calls as possible."""

from __future__ import annotations

from typing import Any

from py4j.java_collections import JavaList


def java_class(jvm: Any, name: str) -> Any:
    """Returns a class by its full name.

    Attribute access (`jvm.org.apache…`) would look for each package as a class in every jar of the class path.
    """
    return getattr(jvm, name)


def unpacked(objects: Any, count: int) -> list[Any]:
    """Returns the first `count` objects of a Java list, for an assignment.

    Py4J's own indexing asks for the size of the list each time. See also `to_python`.
    """
    return [objects.get(index) for index in range(count)]


def to_python(value: Any) -> Any:
    """Returns Java lists as Python lists, recursively, and any other object as it is.

    Iterating over a Java list ends with a Java exception, and PySpark then asks for each class that it might be of.
    """
    return [to_python(each) for each in unpacked(value, value.size())] if isinstance(value, JavaList) else value
