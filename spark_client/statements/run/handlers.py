"""Handles the requests of the JVM's parser: which texts are statements of ours, what columns they have, their rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.context import Context
from spark_client.errors import MetastoreUnavailableError, SparkClientError
from spark_client.jvm import Handlers
from spark_client.jvm.plans import java_frame
from spark_client.jvm.requests import (
    ParsedScript,
    ParsedStatement,
    ReadStatement,
    ResolveStatement,
    RunStatement,
    StatementColumns,
)
from spark_client.statements.grammar.parameters import PARAMETER, pieces
from spark_client.statements.grammar.scripts import is_script, statements
from spark_client.statements.run.registry import columns_of, may_be_ours, run

# The last errors of statements of ours: Java brings back no more than their texts.
_raised: deque[SparkClientError | PySparkException] = deque(maxlen=64)


@contextmanager
def own_errors() -> Iterator[None]:
    """Raises what a statement of ours has raised, where Spark would raise another error with the same text."""
    try:
        yield
    except PySparkException as error:
        text = str(error)
        for own in list(_raised):
            if str(own) == text:
                raise own from None
        if text.startswith("no metastore answer"):
            raise MetastoreUnavailableError(text) from None
        raise


@contextmanager
def _kept() -> Iterator[None]:
    try:
        yield
    except (SparkClientError, PySparkException) as error:
        _raised.append(error)
        raise


class StatementHandlers:
    """Each is about the session of the JVM's that comes with the request."""

    def __init__(self, metastore: MetastoreClient, session: Callable[[Any], SparkSession]) -> None:
        """`session` makes PySpark's session of the JVM's."""
        self._metastore = metastore
        self._session = session

    def handlers(self) -> Handlers:
        """Returns them by the kinds of requests about statements."""
        return {ReadStatement: self._read, ResolveStatement: self._columns, RunStatement: self._run}

    def _read(self, request: ReadStatement, session: Any) -> ParsedStatement | ParsedScript | None:
        context = self._context(session)
        with _kept():
            if is_script(request.text):
                return _script(context, request.text)
            return _own(context, request.text)

    def _columns(self, request: ResolveStatement, session: Any) -> StatementColumns | None:
        with _kept():
            columns = columns_of(self._context(session), request.text)
        return None if columns is None else StatementColumns(columns)

    def _run(self, request: RunStatement, objects: Any) -> None:
        with _kept():
            objects.append(java_frame(run(self._context(objects[0]), request.text)))

    def _context(self, session: Any) -> Context:
        return Context(self._session(session), self._metastore)


def _own(context: Context, text: str) -> ParsedStatement | None:
    between, names = pieces(text)
    return ParsedStatement(between, names) if may_be_ours(context, PARAMETER.join(between)) else None


def _script(context: Context, text: str) -> ParsedScript | None:
    """Returns the script with names in the places of our statements; None where it has none."""
    script, end, named = "", 0, dict[str, ParsedStatement]()
    for start, stop in statements(text):
        statement = text[start:stop]
        if own := _own(context, statement):
            name = f"spark_client_statement_{len(named)}"
            named[name] = own
            script += f"{text[end:start]}SHOW TABLES LIKE '{name}'"
            end = stop
    return ParsedScript(script + text[end:], named) if named else None
