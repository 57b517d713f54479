"""Processes that answer each line of JSON with a line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

_ROOT = Path(__file__).parents[3]


@contextmanager
def answering(
    module: str, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Callable[..., Any]]:
    """Starts `python -m module arguments`, and ends it after the block.

    Yields a function that sends its keyword arguments as an object, and returns the object of the reply. It skips lines
    without an object, and raises EOFError if the process has ended. The process inherits this process's environment
    without the variables that describe the Spark that runs here. `environment`: variables to add.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    with subprocess.Popen(
        command, cwd=_ROOT, env=inherited | dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        given, answers = process.stdin, process.stdout
        assert given
        assert answers

        def ask(**order: Any) -> Any:
            print(json.dumps(order), file=given, flush=True)
            for line in answers:
                if line.startswith("{"):
                    return json.loads(line)
            raise EOFError(f"{module} has ended")

        yield ask
        given.close()
