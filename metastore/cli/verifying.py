"""`metastore import verify`: shows the differences between a source and this server."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import click

from metastore.cli.import_report import as_dicts, reporting
from metastore.cli.importing import names_of, opened_source, progress, read_as_imported, read_if_ready
from metastore.cli.printing import print_table, printable
from metastore.importing.copier import name_of
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.objects import Selection, Stage
from metastore.importing.verifier import MISSING, Outcome, Verifier
from metastore.settings import Settings

T = TypeVar("T")
_LAG: Final = 5.0  # seconds in which a follower removes a difference
_HIDDEN: Final = (
    "metastore: some objects are missing on this server, or hidden from you. With METASTORE_AUTHORIZATION=grants, "
    "compare as an administrator (METASTORE_ADMINS): others do not see all objects"
)

_DECIDED_ANEW: Final = (
    "metastore: latin1 columns are read as most of their texts are, and not as the import has decided: the database of "
    "this server is not at hand ({reason}). Set METASTORE_DATABASE_URL, or add --text-encoding"
)


def show_verified(
    settings: Settings,
    address: str,
    uri: str,
    databases: str | None,
    rewrites: tuple[str, ...],
    most: int,
    file: Path | None,
    *,
    lasting: bool,
    encoding: str | None = None,
) -> int:
    """Prints counts and differences. Returns the exit status: 1 if something differs.

    `settings`: of the database of this server, which knows how the import has read texts. `lasting`: differences count
    only if a second comparison finds the same ones.
    """
    gc.disable()  # partitions contain no cycles, and looking for them takes a third of the time
    wanted = frozenset(map(name_of, names_of(databases))) or None
    with (
        reporting(file, "verify", address, uri) as report,
        opened_source(address) as source,
        opened_source(uri) as ours,
        progress() as advance,
    ):
        with read_if_ready(settings) as (work, unready):
            if read_as_imported(source, work, encoding):
                click.echo(
                    printable(_DECIDED_ANEW.format(reason=unready or "it has no import of this source")), err=True
                )

        def compare() -> Outcome:
            return Verifier(source, ours, Rewriting(rewrites), advance).run(Selection(wanted))

        outcome = _lasting(compare) if lasting else compare()
        report.counts = _by_plural(outcome.compared)
        report.digests = _by_plural(outcome.digests.texts())
        report.differences = as_dicts(outcome.differences)
        report.findings = as_dicts(outcome.broken)
        report.details = {"digest": outcome.digests.whole(), "not_compared": dict(outcome.hidden)}
    _print_outcome(outcome, most, report.seconds)
    return 1 if outcome.differences else 0


def _lasting(compare: Callable[[], Outcome]) -> Outcome:
    """Compares, and once more if something differs. Returns the differences of both comparisons."""
    outcome = compare()
    if outcome.differences:
        time.sleep(_LAG)
        before = outcome.differences
        outcome = compare()
        outcome.differences = [one for one in outcome.differences if one in before]
    return outcome


def _print_outcome(outcome: Outcome, most: int, seconds: float) -> None:
    by_kind = Counter(difference.kind for difference in outcome.differences)
    rows = [[kind, str(number), str(by_kind[kind])] for kind, number in outcome.compared.items()]
    print_table("Compared", ["kind", "objects", "differences"], rows)
    if outcome.differences:
        shown = [
            [one.kind, one.object, one.field, _text(one.source), _text(one.ours)] for one in outcome.differences[:most]
        ]
        print_table("Differences", ["kind", "object", "field", "source", "this server"], shown)
    _print_hints(outcome)
    total = sum(outcome.compared.values())
    click.echo(
        f"{total} objects compared in {seconds:.1f} s, {len(outcome.differences)} differences. Digest of the "
        f"source: {outcome.digests.whole()}",
        err=True,
    )


def _print_hints(outcome: Outcome) -> None:
    """Prints the kinds that were not compared, and why objects may be missing."""
    if any(one.field == MISSING for one in outcome.differences):
        click.echo(_HIDDEN, err=True)
    if outcome.broken:
        number = len(outcome.broken)
        click.echo(f"metastore: {number} broken rows of the source were not compared; --report names them", err=True)
    for name, setting in outcome.hidden.items():
        click.echo(
            f"metastore: {name} of column statistics were not compared: the source returns them through Thrift only "
            f"with {setting}=true",
            err=True,
        )


def _by_plural(values: Mapping[str, T]) -> dict[str, T]:
    """Returns values by the kinds that the reports of other commands have."""
    plurals = {"database": Stage.DATABASES, "table": Stage.TABLES, "partition": Stage.PARTITIONS}
    return {plurals[kind].value if kind in plurals else kind: value for kind, value in values.items()}


def _text(value: object) -> str:
    return "" if value is None else str(value)
