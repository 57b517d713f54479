"""The results of find_skew: heavy values, and the savings of directories for them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from spark_client import notebook
from spark_client.jvm.sql_text import quote, stored_literal
from spark_client.notebook import counted

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class HeavyValue:
    """A heavy value: one text per column, NULL as Hive's default partition name. `share` is its part of all rows, 0 to
    1.
    """

    values: tuple[str, ...]
    rows: int
    share: float

    @property
    def pruned(self) -> float:
        """The share of the rows that a query for this value does not read."""
        return 1 - self.share


@dataclass(frozen=True, slots=True, repr=False)
class SkewSuggestion:
    """The heavy values of `columns`, heaviest first. Counts are never too low, and at most `error` rows too high.

    `table` is the name of the table, if a name was given. `rows` is the total number of rows.
    """

    table: str | None
    columns: tuple[str, ...]
    values: tuple[HeavyValue, ...]
    rows: int
    error: int

    @property
    def rest(self) -> float:
        """The share of the rows that stay in the default directory, which a query for a rare value reads."""
        return max(0.0, 1 - sum(value.share for value in self.values))

    @property
    def pruned(self) -> float:
        """The average share of the rows that a query does not read, if queries ask for each row's value equally
        often.
        """
        return 1 - self.rest**2 - sum(value.share**2 for value in self.values)

    @property
    def clause(self) -> str:
        """The clause SKEWED BY … of CREATE TABLE or ALTER TABLE. Empty if no value is heavy."""
        if not self.values:
            return ""
        columns = ", ".join(map(quote, self.columns))
        tuples = [", ".join(map(stored_literal, value.values)) for value in self.values]
        values = ", ".join(f"({text})" if len(self.columns) > 1 else text for text in tuples)
        return f"SKEWED BY ({columns}) ON ({values}) STORED AS DIRECTORIES"

    def __repr__(self) -> str:
        found = counted(len(self.values), "heavy value") if self.values else "no heavy value"
        return f"<SkewSuggestion: {', '.join(self.columns)} has {found} in {counted(self.rows, 'row')}>"

    def _repr_html_(self) -> str:
        """Returns a table for a notebook, and the clause below it."""
        rows: list[tuple[object, ...]] = [
            (", ".join(value.values), value.rows, f"{value.share:.2%}", f"{value.pruned:.2%}")
            for value in self.values[:_SHOWN]
        ]
        rows.append(("other values", "", f"{self.rest:.2%}", f"{1 - self.rest:.2%}"))
        name = ", ".join(self.columns)
        shown = notebook.table(repr(self)[1:-1], (name, "rows", "share", "a query skips"), rows)
        return shown + (f"<pre>{escape(self.clause)}</pre>" if self.values else "")

    def __str__(self) -> str:
        """Returns a line for each of the heaviest values, and one for all other values."""
        name = ", ".join(self.columns)
        if not self.values:
            return f"{name}: no value is heavy in {self.rows:,} rows"
        lines = [
            f"{', '.join(value.values)}: {value.share:.2%} of the rows ({value.rows:,}); prunes {value.pruned:.2%}"
            for value in self.values[:_SHOWN]
        ]
        if len(self.values) > _SHOWN:
            lines.append(f"and {len(self.values) - _SHOWN:,} more")
        total = (
            f"other values: {self.rest:.2%}; prunes {1 - self.rest:.2%}. On average, a query skips {self.pruned:.2%}"
        )
        return "\n".join([f"{name}: {len(self.values):,} heavy values in {self.rows:,} rows", *lines, total])
