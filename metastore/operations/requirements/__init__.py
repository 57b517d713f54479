"""Requirements that depend on the arguments of a call: a module for each kind of object.

The docstring of each function states what it requires of the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from metastore.domain.permissions import Requirement

Requirements: TypeAlias = Iterator[Requirement]
