"""Intended differences from Hive 2.3.10: the texts in `differences/`, one for each file of scenarios.

A heading gives the reason. Below it are, indented, the steps and fields of the answers, and both answers; a long answer
continues in lines that are indented further; `…` stands for any text:

    scenario/method: label | field, or `answer` for the answer as a whole
        Hive: 'one'
        ours: 'other'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.contract.comparing import WHOLE, Finding

FOLDER = Path(__file__).with_name("differences")
BLOCK = re.compile(r"(?P<places>( {4}\S.* \| .+\n)+) {8}Hive: (?P<real>.+)\n {8}ours: (?P<ours>.+)")


@dataclass(frozen=True, slots=True)
class Difference:
    """One intended difference. All fields but `why` are patterns of a finding's texts; answers are written as in
    Python.
    """

    step: str
    field: str
    real: str
    ours: str
    why: str = ""

    def covers(self, finding: Finding) -> bool:
        """Returns whether a finding is this one: at this step and field, with both of these answers."""
        texts = (finding.step, finding.field or WHOLE, repr(finding.real), repr(finding.ours))
        patterns = (self.step, self.field, self.real, self.ours)
        return all(map(_alike, patterns, texts))

    def __str__(self) -> str:
        return f"    {self.step} | {self.field}\n        Hive: {self.real}\n        ours: {self.ours}\n"


def _alike(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text, re.DOTALL) is not None


def listed(text: str) -> Iterator[Difference]:
    """Returns the differences of one file. Raises ValueError for another format."""
    for section in text.split("\n## ")[1:]:
        why, *blocks = section.strip("\n").split("\n\n")
        for block in blocks:
            match = BLOCK.fullmatch(re.sub(r"\n {14}", " ", block))
            if match is None:
                raise ValueError(f"not a difference, under {why!r}:\n{block}")
            for location in match["places"].splitlines():
                step, _, field = location[4:].rpartition(" | ")
                yield Difference(step, field, match["real"], match["ours"], why)


DIFFERENCES = tuple(difference for path in sorted(FOLDER.glob("*.md")) for difference in listed(path.read_text()))
