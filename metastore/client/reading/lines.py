"""Splits the lines of Hive's text files into columns. Arrow reads the lines, since its own parser wants equal ones.

A line may have fewer columns than the table, which are then NULL, or more, which are left out: columns that were added,
or dropped, after it was written.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metastore.client.reading.schema import Column

LINE: Final = "\n"  # the name of the only column that Arrow reads, which is no name of a column of Hive
_LONGEST: Final = 2**31 - 1  # characters of a field; Python's limit is 131,072


@dataclass(frozen=True)
class LineSplitter:
    """The rules of a serde.

    Attributes:
        names: the columns of the files, in their order.
        delimiter: between columns.
        null: the text of NULL. None: there is none.
        quote: around columns. Empty: there is none.
        escape: before a character that is not special. Empty: there is none.
    """

    names: tuple[str, ...]
    delimiter: str
    null: str | None = None
    quote: str = ""
    escape: str = ""

    def of(self, _: Sequence[Column]) -> LineSplitter:
        """Returns the rules for some columns of a table: the same for all."""
        return self

    @property
    def schema(self) -> pa.Schema:
        """The columns, all of them texts."""
        return pa.schema([(name, pa.string()) for name in self.names])

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns rows with the columns of the files instead of the lines. Other columns stay."""
        others = [name for name in batch.schema.names if name != LINE]
        columns = self._columns(batch.column(LINE)) if LINE in batch.schema.names else []
        names = [*self.names[: len(columns)], *others]
        return pa.RecordBatch.from_arrays([*columns, *(batch.column(name) for name in others)], names)

    def _columns(self, lines: pa.Array) -> list[pa.Array]:
        if self.quote or self.escape:
            rows = self._quoted(lines) if self.quote else self._escaped(lines)
            columns = [pa.array(column, pa.string()) for column in self._transposed(rows)]
        else:
            columns = self._plain(lines)
        if self.null is None or self.escape:
            return columns
        nothing = pa.scalar(None, pa.string())
        return [pc.if_else(pc.equal(column, self.null), nothing, column) for column in columns]

    def _plain(self, lines: pa.Array) -> list[pa.Array]:
        count = len(self.names)
        padded = pc.binary_join_element_wise(lines, self.delimiter * count, "")  # so that each has all columns
        parts = pc.split_pattern(padded, self.delimiter, max_splits=count)
        found = pc.count_substring(lines, self.delimiter)
        nothing = pa.scalar(None, pa.string())
        return [pc.if_else(pc.less(found, number), nothing, pc.list_element(parts, number)) for number in range(count)]

    def _quoted(self, lines: pa.Array) -> Iterator[list[str]]:
        """Yields the columns of each line. A row never continues on the next line."""
        csv.field_size_limit(_LONGEST)
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        special = f"[^{quote}{re.escape(self.escape)}"
        column = f"(?:{quote}(?:{special}]|{quote}{quote})*{quote}|{special}{delimiter}]*)"
        usual = re.compile(f"{column}(?:{delimiter}{column})*", re.DOTALL)
        for line in lines.to_pylist():
            if usual.fullmatch(line):
                # An empty line has no columns.
                yield next(csv.reader([line], delimiter=self.delimiter, quotechar=self.quote), [])
            else:
                yield self._unusual(line)

    def _unusual(self, line: str) -> list[str]:
        """Returns the columns of a line with escapes, or with quotes within columns, by the rules of opencsv 2.3, on
        which Hive's serde rests.

        An escape counts in front of a quote or another escape, and is left out elsewhere. A column whose quote is not
        closed is dropped.
        """
        columns, text, at = [], "", 0
        is_quoted = is_begun = False
        while at < len(line):
            this, following = line[at], line[at + 1 : at + 2]
            is_pair = (is_quoted or is_begun) and following != "" and following in (self.quote, self.escape)
            if this == self.escape:
                text += following if is_pair else ""
                at += is_pair
            elif this == self.quote:
                if is_pair and following == self.quote:
                    text, at = text + this, at + 1
                else:
                    is_quoted = not is_quoted
                    if at > 2 and line[at - 1] != self.delimiter and following not in ("", self.delimiter):
                        text = "" if text and text.isspace() else text + this
                is_begun = not is_begun
            elif this == self.delimiter and not is_quoted:
                columns.append(text)
                text, is_begun = "", False
            else:
                text, is_begun = text + this, True
            at += 1
        return columns if is_quoted else [*columns, text]

    def _escaped(self, lines: pa.Array) -> Iterator[list[str | None]]:
        """Yields the columns of each line. The text of NULL is compared before escapes are removed, as in Hive."""
        escape, delimiter = re.escape(self.escape), re.escape(self.delimiter)
        token = re.compile(f"{delimiter}|(?:{escape}.|[^{escape}{delimiter}])+|{escape}", re.DOTALL)
        escaped = re.compile(f"{escape}(.)", re.DOTALL)
        for line in lines.to_pylist():
            parts = [""]
            for found in token.findall(line):
                if found == self.delimiter:
                    parts.append("")
                else:
                    parts[-1] += found
            yield [None if part == self.null else escaped.sub(r"\1", part) for part in parts]

    def _transposed(self, rows: Iterator[Sequence[str | None]]) -> list[list[str | None]]:
        columns: list[list[str | None]] = [[] for _ in self.names]
        for row in rows:
            for number, column in enumerate(columns):
                column.append(row[number] if number < len(row) else None)
        return columns
