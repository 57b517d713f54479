"""Parses CREATE TABLE … AS SELECT with column types, which Spark's parser rejects. Pure.

Grammar: Hive's design of dynamic partitions ("CTAS"), and Doris.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\bcreate\s+(?:external\s+)?table\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CreateTableAsSelect:
    """CREATE TABLE … AS SELECT with column types.

    Attributes:
        table: The name as written.
        head: The text up to the end of the name.
        columns: The columns in parentheses, or None.
        rest: The clauses between the columns and the query.
        query: The query.
        keys: The number of partition columns.
        has_format: The statement has STORED AS or USING.
    """

    table: str
    head: str
    columns: str | None
    rest: str
    query: str
    keys: int
    has_format: bool

    def definition(self, columns: str) -> str:
        """Returns CREATE TABLE without the query. `columns` in parentheses is used if the statement has none."""
        return f"{self.head} {self.columns or columns} {self.rest}"


def parse(text: str) -> CreateTableAsSelect | None:
    """Returns the statement, or None if it is Spark's."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("CREATE", "TABLE") or reader.take("CREATE", "EXTERNAL", "TABLE"):
        try:
            return _create(text, reader)
        except InvalidStatementError:
            return None  # a parenthesis is not closed; Spark's parser reports where
    return None


def _create(text: str, reader: Reader) -> CreateTableAsSelect | None:
    reader.take("IF", "NOT", "EXISTS")
    name = reader.multipart_name()
    if name is None:
        return None
    head, first = text[: reader.end], reader.peek()
    columns = reader.brackets() if first is not None and first.matches("(") else None
    rest_start, keys, is_typed, has_format = reader.end, 0, columns is not None, False
    while (word := reader.peek()) is not None:
        if reader.at_query():
            reader.take("AS")
            query = reader.peek()
            if query is None or not is_typed:
                return None
            rest = text[rest_start : word.start].strip()
            return CreateTableAsSelect(name, head, columns, rest, text[query.start :].rstrip("; \n"), keys, has_format)
        if word.matches("("):
            reader.skip_brackets()
        elif reader.take("PARTITIONED", "BY"):
            keys, typed = _keys(reader)
            is_typed = is_typed or typed
        elif word.matches("USING") and not reader.take("USING", "HIVE"):
            return None
        else:
            has_format = has_format or word.matches("STORED", "USING")
            if not word.matches("USING"):
                reader.next()
    return None


def _keys(reader: Reader) -> tuple[int, bool]:
    """Returns the number of columns in PARTITIONED BY, and whether they have types."""
    opening = reader.peek()
    if opening is None or not opening.matches("("):
        return 0, False
    reader.next()
    count, words, typed = 1, 0, False
    while not (token := reader.next()).matches(")") or token.depth > opening.depth:
        if token.matches(",") and token.depth == opening.depth + 1:
            count, words = count + 1, 0
        else:
            words += 1
            typed = typed or words > 1
    return count, typed
