"""A running Airflow: its processes, its database, and the states of its tasks."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

PATIENCE: Final = 180.0  # seconds
PROCESSES: Final = ("api-server", "scheduler", "dag-processor", "triggerer")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Airflow:
    """Airflow 3: four processes, whose logs are in its folder."""

    def __init__(
        self, venv: Path, home: Path, connections: dict[str, dict[str, Any]], database_url: str = "", **settings: str
    ) -> None:
        """`connections`: by name, as JSON has them. `database_url`: default: SQLite. `settings`: `SECTION__KEY`."""
        self.venv, self.home, self.dags = venv, home, home / "dags"
        self.dags.mkdir(parents=True)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        port, url = free_port(), database_url or f"sqlite:///{home / 'airflow.db'}"
        self._engine = create_engine(url, poolclass=NullPool)
        known = {
            "DATABASE__SQL_ALCHEMY_CONN": url,
            "CORE__DAGS_FOLDER": str(self.dags),
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "CORE__PARALLELISM": "4",
            "CORE__FERNET_KEY": "81HqDtbqAywKSOumSha3BhWNOdQ26slT6K0YaZeZyPs=",
            "API__HOST": "127.0.0.1",
            "API__PORT": str(port),
            "API__WORKERS": "1",
            "API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "API__SECRET_KEY": secrets.token_hex(32),
            "DAG_PROCESSOR__REFRESH_INTERVAL": "2",
            "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "2",
            "TRIGGERER__CAPACITY": "10000",
            "TRIGGERER__MAX_TRIGGER_TO_SELECT_PER_LOOP": "1000",
        } | settings
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "METASTORE"))},
            **{f"AIRFLOW__{name}": value for name, value in known.items()},
            **{f"AIRFLOW_CONN_{name.upper()}": json.dumps(value) for name, value in connections.items()},
            "AIRFLOW_HOME": str(home),
            "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        }

    def command(self, *arguments: str) -> str:
        """Runs `airflow …`."""
        done = subprocess.run(
            [self.venv / "bin/airflow", *arguments],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def start(self, name: str) -> None:
        """Starts one process."""
        with (self.home / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [self.venv / "bin/airflow", name],
                env=self.environment,
                cwd=self.home,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends one process and its children."""
        process = self._processes.pop(name)
        if process.poll() is None:
            os.killpg(process.pid, how)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:  # a scheduler waits for its tasks
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)

    def log(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text()

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """Returns the rows of a query of Airflow's database."""
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(query), values)]

    def states(self, dag: str) -> dict[str, str]:
        """Returns the states of the tasks of a DAG's newest run."""
        return dict(
            self.rows(
                "SELECT task_id, state FROM task_instance WHERE dag_id = :dag AND run_id ="
                " (SELECT run_id FROM dag_run WHERE dag_id = :dag ORDER BY id DESC LIMIT 1)",
                dag=dag,
            )
        )

    def wait(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        """Waits until a condition is true."""
        until = time.monotonic() + patience
        while not condition():
            ended = [name for name, process in self._processes.items() if process.poll() is not None]
            assert not ended, f"{ended[0]} has ended: {self.log(ended[0])[-3000:]}"
            assert time.monotonic() < until, f"{what}: {self.rows('SELECT dag_id, task_id, state FROM task_instance')}"
            time.sleep(0.1)

    def run(self, dag: str, day: str) -> None:
        """Starts a run of a DAG for a day, once the DAG is known."""
        self.wait(lambda: self.rows("SELECT 1 FROM serialized_dag WHERE dag_id = :dag", dag=dag), f"the DAG {dag}")
        self.command("dags", "trigger", dag, "--logical-date", f"{day}T00:00:00+00:00")

    def has(self, dag: str, task: str, state: str) -> Callable[[], bool]:
        """Returns a condition: whether a task of the newest run has a state."""
        return lambda: self.states(dag).get(task) == state


@contextmanager
def running(airflow: Airflow) -> Iterator[Airflow]:
    """Creates the database and starts the processes. Ends them afterwards."""
    airflow.command("db", "migrate")
    try:
        for name in PROCESSES:
            airflow.start(name)
        yield airflow
    finally:
        for name in list(airflow._processes):
            airflow.kill(name, signal.SIGTERM)
