"""`metastore methods`: lists the methods of Hive's Thrift service, and why some are not supported."""

from __future__ import annotations

from typing import NamedTuple

from metastore.cli.printing import is_terminal, print_table
from metastore.handlers.registry import served
from metastore.protocol.unsupported import REFUSED


class _Group(NamedTuple):
    noun: str
    state: str
    reason: str
    methods: list[str]


def show_methods(*, unsupported_only: bool) -> None:
    """Prints one row per noun on a terminal. Elsewhere, prints one line per method: noun, method, state, reason."""
    groups = _unsupported() if unsupported_only else sorted(_unsupported() + _served())
    if not is_terminal():
        lines = [(group.noun, name, group.state, group.reason) for group in groups for name in group.methods]
        print_table("Methods", ("domain", "method", "state", "reason"), lines)
        return
    rows = [
        (
            group.noun,
            f"{len(group.methods)} {group.state}",
            ": ".join(filter(None, (group.reason, ", ".join(group.methods)))),
        )
        for group in groups
    ]
    print_table(f"{sum(len(group.methods) for group in groups)} methods", ("domain", "", "methods"), rows)


def _served() -> list[_Group]:
    nouns: dict[str, list[str]] = {}
    for name, method in sorted(served().items()):
        nouns.setdefault(method.noun, []).append(name)
    return [_Group(noun, "supported", "", names) for noun, names in nouns.items()]


def _unsupported() -> list[_Group]:
    groups = [
        _Group(noun, "not supported", refusal.reason, sorted(refusal.methods.split()))
        for noun, refusal in REFUSED.items()
    ]
    return sorted(groups)
