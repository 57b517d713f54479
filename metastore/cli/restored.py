"""`metastore db restored`: reconciles the files with a database that was restored to an older moment."""

from __future__ import annotations

from metastore.app.database import database
from metastore.app.worker import Application
from metastore.cli.printing import print_table
from metastore.settings import Settings
from migrations import runner


def reconcile(settings: Settings, *, dry_run: bool, take_over: bool) -> str:
    """Prints the action for each location; with `dry_run`, the planned one. Returns a summary.

    Raises ConfigurationError if the schema has another version, InvalidOperationError, UnavailableError.
    """
    with database(settings) as url:
        runner.check(url)
        application = Application(settings, url)
        try:
            report = application.reconciliation().reconcile(dry_run=dry_run, take_over=take_over)
        finally:
            application.close()
    print_table("Locations", ["location", "action"], [[text, action] for text, action in report.findings])
    if not report.problem and not report.findings:
        return f"{settings.safe_url} was not restored since the last run. Nothing to do."
    state = "Nothing was changed (--dry-run)." if dry_run else "Servers clean files again within 10 seconds."
    event = "" if dry_run else f" The notification log continues after event {report.event}."
    return f"{len(report.findings)} locations. {state}{event}"
