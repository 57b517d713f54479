"""What find_skew says: the heavy values of some columns, and what their directories would save. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from spark_client.jvm.sql_text import quote, stored_literal

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class HeavyValue:
    """A value (a text per column, null by Hive's name for it) and its rows. `share`: of all rows, 0 to 1."""

    values: tuple[str, ...]
    rows: int
    share: float

    @property
    def pruned(self) -> float:
        """The share of all rows that a query for this value would not read."""
        return 1 - self.share


@dataclass(frozen=True, slots=True)
class SkewSuggestion:
    """The heavy values of `columns`, heaviest first. Counts are never too low, and at most `error` rows too high.

    `table`: its name, if it was found in one. `rows` is the number of all.
    """

    table: str | None
    columns: tuple[str, ...]
    values: tuple[HeavyValue, ...]
    rows: int
    error: int

    @property
    def rest(self) -> float:
        """The share of the rows that would stay in the default directory: what a query for a rare value reads."""
        return max(0.0, 1 - sum(value.share for value in self.values))

    @property
    def pruned(self) -> float:
        """The share of the rows that is not read, on average, if each row's value is asked for alike."""
        return 1 - self.rest**2 - sum(value.share**2 for value in self.values)

    @property
    def clause(self) -> str:
        """SKEWED BY … for CREATE TABLE or ALTER TABLE; empty where no value is heavy."""
        if not self.values:
            return ""
        columns = ", ".join(map(quote, self.columns))
        tuples = [", ".join(map(stored_literal, value.values)) for value in self.values]
        values = ", ".join(f"({text})" if len(self.columns) > 1 else text for text in tuples)
        return f"SKEWED BY ({columns}) ON ({values}) STORED AS DIRECTORIES"

    def __str__(self) -> str:
        """Returns a line for each of the heaviest values, and one for the rest."""
        name = ", ".join(self.columns)
        if not self.values:
            return f"{name}: no value is heavy in {self.rows:,} rows"
        lines = [
            f"{', '.join(value.values)}: {value.share:.2%} of the rows ({value.rows:,}); prunes {value.pruned:.2%}"
            for value in self.values[:_SHOWN]
        ]
        if len(self.values) > _SHOWN:
            lines.append(f"and {len(self.values) - _SHOWN:,} more")
        total = f"any other: {self.rest:.2%}; prunes {1 - self.rest:.2%}. On average, {self.pruned:.2%} is not read"
        return "\n".join([f"{name}: {len(self.values):,} heavy values in {self.rows:,} rows", *lines, total])
