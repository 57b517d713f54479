"""Written by thrift_idl/stubs.py from the generated code. Do not edit: run  make generate."""

from collections.abc import Mapping
from typing import Any, ClassVar

from thrift_idl.fields import Encoded, Field



