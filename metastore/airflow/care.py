"""The operator that runs table care."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from metastore.airflow.hook import MetastoreHook
from metastore.airflow.settings import DEFAULT_CONNECTION
from metastore.client.credentials import PREFIX


class TableCareOperator(BaseOperator):
    """Runs `metastore care run`: retention, discovery, compaction and statistics, by the policies of the tables.

    The result has an object for each partition: `table`, `action`, `partition`, `outcome` and so on.
    """

    template_fields: Sequence[str] = ("name", "max_bytes", "metastore_conn_id")

    def __init__(
        self,
        *,
        name: str = "",
        max_bytes: str | None = None,
        max_minutes: float | None = None,
        master: str = "local[*]",
        dry_run_only: bool = False,
        command: Sequence[str] = (sys.executable, "-m", "metastore"),
        metastore_conn_id: str = DEFAULT_CONNECTION,
        **kwargs: Any,
    ) -> None:
        """Takes the parameters of `BaseOperator`, and these.

        Args:
            name: `database`, `database.table`, or empty for the catalog.
            max_bytes: rewrites at most so many bytes: `50GiB`.
            max_minutes: begins no group of partitions later.
            master: Spark's master.
            dry_run_only: lists what would be done.
            command: the program, which needs `metastore[server,spark]`: in a virtual environment of its own, the path
                of its `metastore`.
            metastore_conn_id: the name of the connection.
            kwargs: of `BaseOperator`.
        """
        super().__init__(**kwargs)
        self.name = name
        self.max_bytes = max_bytes
        self.max_minutes = max_minutes
        self.master = master
        self.dry_run_only = dry_run_only
        self.command = list(command)
        self.metastore_conn_id = metastore_conn_id
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Any) -> list[dict[str, Any]]:  # noqa: ARG002 - Airflow's
        """Runs the command. Called by Airflow. Raises AirflowException if something was refused or failed."""
        settings = MetastoreHook(self.metastore_conn_id).settings
        environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        environment |= settings.environment()
        if settings.user and not settings.credentials.prove_a_user:
            environment["LOGNAME"] = settings.user  # the command sends the name of its user
        options = {"--uri": settings.uris, "--master": self.master, "--format": "json"}
        options |= {"--max-bytes": self.max_bytes} if self.max_bytes else {}
        options |= {"--max-minutes": f"{self.max_minutes:g}"} if self.max_minutes is not None else {}
        arguments = [*(each for option in options.items() for each in option), *["--dry-run"][: self.dry_run_only]]
        command = [*self.command, "care", "run", *arguments, *([self.name] if self.name else [])]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as self._process:
            output, errors = self._process.communicate()
        for line in errors.splitlines():
            self.log.info("%s", line)
        if self._process.returncode and not output.strip():
            raise AirflowException(
                f"metastore care run: {errors.strip().splitlines()[-1:] or self._process.returncode}"
            )
        rows: list[dict[str, Any]] = json.loads(output)
        for row in rows:
            self.log.info("%s", row)
        if self._process.returncode:
            raise AirflowException("metastore care run: something was refused or failed; see the log of this task")
        return rows

    def on_kill(self) -> None:
        """Ends the command. Called by Airflow."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
