"""What older Sparks do not have: `make spark-versions` lists it with its reason."""

from __future__ import annotations

import re

import pyspark
import pytest


def is_there(version: str) -> bool:
    """Tells whether this Spark is of that minor, or newer."""
    ours, needed = ([int(number) for number in re.findall(r"\d+", text)[:2]] for text in (pyspark.__version__, version))
    return ours >= needed


def since(version: str, what: str) -> pytest.MarkDecorator:
    """Skips a test on Sparks older than this minor; `what` came with it."""
    return pytest.mark.skipif(not is_there(version), reason=f"{what} came with Spark {version}")
