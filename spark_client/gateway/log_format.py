"""The form of the gateway's log."""

from __future__ import annotations

import logging


class LogFormatter(logging.Formatter):
    """Escapes control characters, and indents the lines after the first.

    Names of users and the output of their functions can contain both. A terminal would execute them, and a reader would
    take them for lines of the log.
    """

    def format(self, record: logging.LogRecord) -> str:
        first, *further = super().format(record).split("\n")
        return "\n".join([_escaped(first), *(f"  {_escaped(line)}" for line in further)])


def _escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
