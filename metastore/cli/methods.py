"""`metastore methods`: lists the methods of Hive's Thrift service, and why some are not supported."""

from __future__ import annotations

from typing import NamedTuple

from metastore.cli.printing import is_terminal, print_table
from metastore.handlers.registry import served
from metastore.protocol.unsupported import REFUSED


class _Group(NamedTuple):
    domain: str
    state: str
    reason: str
    methods: list[str]


def show_methods(*, unsupported_only: bool) -> None:
    """Prints one row per domain on a terminal. Elsewhere, prints one line per method: domain, method, state, reason."""
    groups = _unsupported() if unsupported_only else sorted(_unsupported() + _served())
    if not is_terminal():
        lines = [(group.domain, name, group.state, group.reason) for group in groups for name in group.methods]
        print_table("Methods", (), lines)
        return
    rows = [
        (
            group.domain,
            f"{len(group.methods)} {group.state}",
            ": ".join(filter(None, (group.reason, ", ".join(group.methods)))),
        )
        for group in groups
    ]
    print_table(f"{sum(len(group.methods) for group in groups)} methods", ("domain", "", "methods"), rows)


def _served() -> list[_Group]:
    domains: dict[str, list[str]] = {}
    for name, method in sorted(served().items()):
        domains.setdefault(method.domain, []).append(name)
    return [_Group(domain, "supported", "", names) for domain, names in domains.items()]


def _unsupported() -> list[_Group]:
    groups = [
        _Group(domain, "not supported", refusal.reason, sorted(refusal.methods.split()))
        for domain, refusal in REFUSED.items()
    ]
    return sorted(groups)
