"""Handles the requests of the JVM's parser: which texts are statements of this library, their columns, their rows."""

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
from spark_client.statements.run.registry import columns_of, is_candidate, run

# The last errors of statements. The JVM passes on only their texts; `own_errors` finds the exception by the text.
_raised: deque[SparkClientError | PySparkException] = deque(maxlen=64)


@contextmanager
def own_errors() -> Iterator[None]:
    """Replaces an error of Spark by the exception of this library that caused it."""
    try:
        yield
    except PySparkException as error:
        if isinstance(error, SparkClientError):
            raise
        text = str(error)
        for own in list(_raised):
            if str(own) == text:
                raise own from None
        if text.startswith("no metastore answer"):
            raise MetastoreUnavailableError(text) from None
        raise


@contextmanager
def _recorded() -> Iterator[None]:
    """Records the error of a request, for `own_errors`."""
    try:
        yield
    except (SparkClientError, PySparkException) as error:
        _raised.append(error)
        raise


class StatementHandlers:
    """Handlers of the requests about statements. The JVM sends the session of the statement with each request."""

    def __init__(self, metastore: MetastoreClient, session: Callable[[Any], SparkSession]) -> None:
        """`session` wraps a session of the JVM as PySpark's."""
        self._metastore = metastore
        self._session = session

    def handlers(self) -> Handlers:
        """Returns the handler of each class of request."""
        return {ReadStatement: self._read, ResolveStatement: self._columns, RunStatement: self._run}

    def _read(self, request: ReadStatement, session: Any) -> ParsedStatement | ParsedScript | None:
        context = self._context(session)
        with _recorded():
            if is_script(request.text):
                return _script(context, request.text)
            return _parsed(context, request.text)

    def _columns(self, request: ResolveStatement, session: Any) -> StatementColumns | None:
        with _recorded():
            columns = columns_of(self._context(session), request.text)
        return None if columns is None else StatementColumns(columns)

    def _run(self, request: RunStatement, objects: Any) -> None:
        with _recorded():
            objects.append(java_frame(run(self._context(objects[0]), request.text)))

    def _context(self, session: Any) -> Context:
        return Context(self._session(session), self._metastore)


def _parsed(context: Context, text: str) -> ParsedStatement | None:
    """Returns the statement around its parameter markers, or None if it is Spark's."""
    between, names = pieces(text)
    return ParsedStatement(between, names) if is_candidate(context, PARAMETER.join(between)) else None


def _script(context: Context, text: str) -> ParsedScript | None:
    """Returns the script with each statement of this library replaced by a name, or None if it has none.

    The replacement is a statement that Spark can parse, so that Spark parses the rest of the script.
    """
    script, end, named = "", 0, dict[str, ParsedStatement]()
    for start, stop in statements(text):
        statement = text[start:stop]
        if parsed := _parsed(context, statement):
            name = f"spark_client_statement_{len(named)}"
            named[name] = parsed
            script += f"{text[end:start]}SHOW TABLES LIKE '{name}'"
            end = stop
    return ParsedScript(script + text[end:], named) if named else None
