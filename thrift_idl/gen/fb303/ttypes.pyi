"""Written by thrift_idl/stubs.py from the generated code. Do not edit: run  make generate."""

from collections.abc import Mapping
from typing import Any, ClassVar

from thrift_idl.fields import Encoded, Field


class fb_status:
    DEAD: int
    STARTING: int
    ALIVE: int
    STOPPING: int
    STOPPED: int
    WARNING: int
    _VALUES_TO_NAMES: ClassVar[dict[int, str]]
    _NAMES_TO_VALUES: ClassVar[dict[str, int]]
