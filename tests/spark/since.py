"""Features that older Sparks lack: `make spark-versions` lists them with the reason."""

from __future__ import annotations

import re

import pyspark
import pytest


def is_there(version: str) -> bool:
    """Returns whether this Spark has this minor version, or a newer one."""
    ours, needed = ([int(number) for number in re.findall(r"\d+", text)[:2]] for text in (pyspark.__version__, version))
    return ours >= needed


def since(version: str, what: str) -> pytest.MarkDecorator:
    """Skips a test on Sparks before this minor version, which introduced `what`."""
    return pytest.mark.skipif(not is_there(version), reason=f"{what} came with Spark {version}")
