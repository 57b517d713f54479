"""`metastore import verify`: shows the differences between a source and this server."""

from __future__ import annotations

import gc
import time
from collections import Counter
from pathlib import Path
from typing import Final

import click

from metastore.cli.importing import check_report, names_of, opened_source, progress, write_report
from metastore.cli.printing import print_table
from metastore.importing.copying import name_of
from metastore.importing.rewriting import Rewriting
from metastore.importing.sources.objects import Selection
from metastore.importing.verifying import MISSING, Outcome, Verifier
from metastore.settings import safe_url

_LAG: Final = 5.0  # seconds in which a follower removes a difference
_HIDDEN: Final = (
    "metastore: some objects are missing on this server, or hidden from you. With METASTORE_AUTHORIZATION=grants, "
    "compare as an administrator (METASTORE_ADMINS): others do not see all objects"
)


def show_verified(
    address: str,
    uri: str,
    databases: str | None,
    rewrites: tuple[str, ...],
    most: int,
    report: Path | None,
    *,
    lasting: bool,
) -> int:
    """Prints counts and differences. Returns the exit status: 1 if something differs.

    `lasting`: differences count only if a second comparison finds the same ones.
    """
    check_report(report)
    begun = time.monotonic()
    gc.disable()  # partitions contain no cycles, and looking for them takes a third of the time
    wanted = frozenset(map(name_of, names_of(databases))) or None
    with opened_source(address) as source, opened_source(uri) as ours, progress() as advance:
        outcome = Verifier(source, ours, Rewriting(rewrites), advance).run(Selection(wanted))
        if lasting and outcome.differences:
            time.sleep(_LAG)
            before = outcome.differences
            outcome = Verifier(source, ours, Rewriting(rewrites), advance).run(Selection(wanted))
            outcome.differences = [one for one in outcome.differences if one in before]
    seconds = time.monotonic() - begun
    by_kind = Counter(difference.kind for difference in outcome.differences)
    rows = [[kind, str(number), str(by_kind[kind])] for kind, number in outcome.compared.items()]
    print_table("Compared", ["kind", "objects", "differences"], rows)
    if outcome.differences:
        shown = [
            [one.kind, one.object, one.field, _text(one.source), _text(one.ours)] for one in outcome.differences[:most]
        ]
        print_table("Differences", ["kind", "object", "field", "source", "this server"], shown)
    if report:
        write_report(report, _report(address, uri, outcome, seconds))
    _print_hints(outcome)
    total = sum(outcome.compared.values())
    click.echo(
        f"{total} objects compared in {seconds:.1f} s, {len(outcome.differences)} differences. Digest of the source: "
        f"{outcome.digest}",
        err=True,
    )
    return 1 if outcome.differences else 0


def _print_hints(outcome: Outcome) -> None:
    """Prints the kinds that were not compared, and why objects may be missing."""
    if any(one.field == MISSING for one in outcome.differences):
        click.echo(_HIDDEN, err=True)
    for name, setting in outcome.hidden.items():
        click.echo(
            f"metastore: {name} of column statistics were not compared: the source returns them through Thrift only "
            f"with {setting}=true",
            err=True,
        )


def _report(address: str, uri: str, outcome: Outcome, seconds: float) -> dict[str, object]:
    return {
        "source": safe_url(address),
        "server": safe_url(uri),
        "compared": outcome.compared,
        "differences": [difference._asdict() for difference in outcome.differences],
        "digest": outcome.digest,
        "seconds": round(seconds, 1),
    }


def _text(value: object) -> str:
    return "" if value is None else str(value)
