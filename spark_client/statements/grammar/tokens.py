"""The tokens of Spark SQL, as far as it takes to find a clause: quotes, comments and brackets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Raw strings take no escapes; in others a backslash hides the next character. What is not closed runs to the end.
_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*)
  | (?P<comment>/\*)
  | (?P<string>[rR](?:'[^']*(?:'|$)|"[^"]*(?:"|$))|'(?:[^'\\]|\\.)*(?:'|\\?$)|"(?:[^"\\]|\\.)*(?:"|\\?$))
  | (?P<quoted>`(?:[^`]|``)*(?:`|$))
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[A-Za-z]*)
  | (?P<word>[^\W\d]\w*)
  | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: word, quoted (identifier), string, number or symbol; `depth`: how many brackets are open around it."""

    kind: str
    text: str
    start: int
    end: int
    depth: int

    def matches(self, *words: str) -> bool:
        """Tells whether it is one of these words (in capitals) or symbols."""
        return self.kind in ("word", "symbol") and self.text.upper() in words

    @property
    def name(self) -> str:
        """As an identifier: without back quotes, in lower case."""
        return (self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text).lower()


def tokens(text: str) -> Iterator[Token]:
    """Returns the tokens of a statement without white space and comments (which nest). A bracket has the depth around
    it."""
    position, depth = 0, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return
        kind, position = match.lastgroup or "symbol", match.end()
        if kind == "comment":
            position = _comment_end(text, position)
        elif kind != "space":
            depth -= match[0] == ")"
            yield Token(kind, match[0], match.start(), match.end(), depth)
            depth += match[0] == "("


def parts(brackets: str) -> list[str]:
    """Returns what stands between the commas of a bracket; those within MAP<…> are not its own."""
    inner, found, start, angles = brackets[1:-1], [], 0, 0
    for token in tokens(inner):
        angles += token.matches("<") - token.matches(">")
        if token.matches(",") and not token.depth and not angles:
            found.append(inner[start : token.start].strip())
            start = token.end
    return [part for part in (*found, inner[start:].strip()) if part]


def _comment_end(text: str, position: int) -> int:
    open_comments = 1
    while open_comments:
        edge = _COMMENT_EDGE.search(text, position)
        if edge is None:
            return len(text)
        open_comments += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position
