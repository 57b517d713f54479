"""Directories of Hive's transactional tables, whose names have the write ids of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# Hive's AcidUtils: base_5, base_5_v12, delta_3_5, delta_3_5_0002, delete_delta_3_5_v12; numbers may have leading zeros
_NAME: Final = re.compile(r"(?:base_(\d+)|(?:delta|delete_delta)_\d+_(\d+)(?:_\d+)?)(?:_v\d+)?")


def last_write_id(names: Iterable[str]) -> int:
    """Returns the largest write id in names of directories, 0 if there is none."""
    matches = filter(None, map(_NAME.fullmatch, names))
    return max((int(match[1] or match[2]) for match in matches), default=0)
