"""What ours does otherwise than Hive 2.3.10 on purpose: the texts in `differences/`, one for each file of scenarios.

A heading says why. Below it stands, indented, at which steps and fields of their answers, and what each side answers
there; a long answer goes on in lines that are indented further; `…` stands for any text:

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
    """One that is on purpose. All but `why` are patterns of a finding's texts; answers are as Python writes them."""

    step: str
    field: str
    real: str
    ours: str
    why: str = ""

    def covers(self, found: Finding) -> bool:
        """True where the finding is this one: at this place, with both of these answers."""
        texts = (found.step, found.field or WHOLE, repr(found.real), repr(found.ours))
        patterns = (self.step, self.field, self.real, self.ours)
        return all(map(_alike, patterns, texts))

    def __str__(self) -> str:
        return f"    {self.step} | {self.field}\n        Hive: {self.real}\n        ours: {self.ours}\n"


def _alike(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text, re.DOTALL) is not None


def listed(text: str) -> Iterator[Difference]:
    """The differences of one file. Raises ValueError for what is not written as above."""
    for section in text.split("\n## ")[1:]:
        why, *blocks = section.strip("\n").split("\n\n")
        for block in blocks:
            found = BLOCK.fullmatch(re.sub(r"\n {14}", " ", block))
            if found is None:
                raise ValueError(f"not a difference, under {why!r}:\n{block}")
            for place in found["places"].splitlines():
                step, _, field = place[4:].rpartition(" | ")
                yield Difference(step, field, found["real"], found["ours"], why)


DIFFERENCES = tuple(difference for path in sorted(FOLDER.glob("*.md")) for difference in listed(path.read_text()))
