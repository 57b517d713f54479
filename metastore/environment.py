"""Environment variables that look like settings and are none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

# Kubernetes documentation, "Environment variables" of a Service; with another Service's name after METASTORE_, too.
_SERVICE: Final = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")
_SERVICE_ADDRESS: Final = re.compile(r"(tcp|udp|sctp)://")  # the value of <SERVICE>_PORT


def unknown_variables(
    environment: Mapping[str, str], prefix: str, known: Collection[str], others: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yields an error for each variable of `environment` that begins with `prefix`, has a value, and is not in `known`.

    The variables that Kubernetes sets for Services are no errors, nor are those that begin with one of `others`.
    """
    for name in sorted(environment):
        value = environment[name]
        if not value or name in known or not name.startswith(prefix) or name.startswith(others):
            continue
        if _SERVICE.fullmatch(name) or (name.endswith("_PORT") and _SERVICE_ADDRESS.match(value)):
            continue
        close = get_close_matches(name[len(prefix) :], [each[len(prefix) :] for each in known], 1)
        fix = f"did you mean {prefix}{close[0]}?" if close else f"unset it, or use one of {', '.join(sorted(known))}"
        yield f"{name} is not a setting: {fix}"
