"""The conditions that the policies of a table mean for its partitions at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from metastore.domain.care import OFF, Policies
from metastore.domain.names import PROTECTED

_FORMATS: Final = {"iceberg": "Iceberg", "delta": "Delta Lake", "hudi": "Hudi", "paimon": "Paimon"}
PROVIDER: Final = "spark.sql.sources.provider"
KINDS: Final = ("table_type", PROVIDER, "storage_handler", "transactional", PROTECTED)
"""Parameters that decide whether table care can change a table."""


class Rule(NamedTuple):
    """Conditions, as values of JSON.

    Attributes:
        table_id: of the table.
        compacts: whether small files are reported or merged.
        small: bytes below which a file is small.
        target: bytes of a merged file.
        min_files: number of small files from which a partition is compacted.
        floor: number of files that a compacted partition has at least.
        quiet_before: a partition is compacted if its last write was not later (seconds since 1970).
        created_before: a partition that was created earlier has expired; None if it does not.
        cutoff: a partition whose key has smaller digits has expired (`KeyDates.cutoff`).
        patterns, pattern_columns: expressions that values match, and their columns, from 1.
        columns, starts, widths: of the digits (`KeyDates.parts`), columns from 1.
    """

    table_id: int
    compacts: bool
    small: int
    target: int
    min_files: int
    floor: int
    quiet_before: int
    created_before: int | None = None
    cutoff: str | None = None
    patterns: tuple[str, ...] = ()
    pattern_columns: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()

    def timeless(self, policies: Policies) -> dict[str, Any]:
        """Returns the conditions with periods in place of times: equal as long as the policies are the same."""
        periods = {
            "quiet_before": policies.quiet_period,
            "created_before": policies.created_period,
            "cutoff": policies.key_period,
        }
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in self._asdict().items()}
        return {name: value for name, value in {**listed, **periods}.items() if name != "table_id"}


def rule_of(
    table_id: int, policies: Policies, parameters: Mapping[str, str], storage: str, floor: int, now: float
) -> Rule:
    """Returns the conditions of a table's policies.

    Args:
        table_id: of the table.
        policies: that apply to it.
        parameters: of the table, at least those named in KINDS.
        storage: the classes of the table's input format and SerDe.
        floor: number of files that a partition has at least: buckets, or directories of skewed values.
        now: seconds since 1970.
    """
    rule = Rule(
        table_id=table_id,
        compacts=policies.compaction != OFF and not uncompacted(parameters, storage),
        small=policies.small_file,
        target=policies.target_size,
        min_files=policies.min_files,
        floor=max(1, floor),
        quiet_before=_before(now, policies.quiet_period),
        created_before=None if policies.created_period is None else _before(now, policies.created_period),
    )
    dates = policies.dates
    if dates is None or policies.key_period is None:
        return rule
    positions = [column + 1 for column in dates.columns]
    return rule._replace(
        cutoff=dates.cutoff(now, policies.key_period),
        patterns=tuple(dates.patterns),
        pattern_columns=tuple(positions),
        columns=tuple(positions[part.column] for part in dates.parts),
        starts=tuple(part.start for part in dates.parts),
        widths=tuple(part.width for part in dates.parts),
    )


def unmanaged(parameters: Mapping[str, str]) -> str | None:
    """Returns why files of a table are not compacted: its format does so itself. None for an ordinary table."""
    if parameters.get("transactional", "").lower() == "true":
        return "Hive compacts transactional tables"
    kinds = [parameters.get(name, "").lower() for name in KINDS[:3]]
    for name, label in _FORMATS.items():
        if any(name in kind for kind in kinds):
            return f"{label} compacts its own tables"
    return "its storage handler keeps the data" if parameters.get("storage_handler") else None


def uncompacted(parameters: Mapping[str, str], storage: str) -> str | None:
    """Returns why files of a table are not compacted; None if they can be. `storage`: as in `rule_of`."""
    provider = parameters.get(PROVIDER, "").lower()
    known = provider if provider not in ("", "hive") else storage.lower()
    is_written = "parquet" in known or "orc" in known
    return unmanaged(parameters) or (None if is_written else "only Parquet and ORC files can be merged")


def _before(now: float, seconds: int) -> int:
    return max(-(2**31), int(now) - min(seconds, 2**40))
