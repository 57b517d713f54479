"""Splits Spark SQL into tokens: words, quoted text, numbers, symbols, and the nesting of parentheses. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Raw strings have no escapes; in others a backslash escapes the next character. An unclosed string runs to the end.
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
    """A token. `kind` is word, quoted (an identifier), string, number or symbol; `depth` counts open parentheses."""

    kind: str
    text: str
    start: int
    end: int
    depth: int

    def matches(self, *words: str) -> bool:
        """Returns whether the token is one of these words (given in capitals) or symbols."""
        return self.kind in ("word", "symbol") and self.text.upper() in words

    @property
    def name(self) -> str:
        """The token as an identifier: without backquotes, in lower case."""
        return (self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text).lower()


def tokens(text: str) -> Iterator[Token]:
    """Yields the tokens of a statement without white space and comments, which may be nested.

    A parenthesis has the depth of the text around it.
    """
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
    """Returns the items of a list in parentheses. Commas inside nested parentheses and MAP<…> do not separate items."""
    inner, items, start, angles = brackets[1:-1], [], 0, 0
    for token in tokens(inner):
        angles += token.matches("<") - token.matches(">")
        if token.matches(",") and not token.depth and not angles:
            items.append(inner[start : token.start].strip())
            start = token.end
    return [part for part in (*items, inner[start:].strip()) if part]


def _comment_end(text: str, position: int) -> int:
    open_comments = 1
    while open_comments:
        edge = _COMMENT_EDGE.search(text, position)
        if edge is None:
            return len(text)
        open_comments += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position
