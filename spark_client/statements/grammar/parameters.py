"""Finds parameter markers in a statement: `:name` and `?`. Pure."""

from __future__ import annotations

from itertools import pairwise

from spark_client.statements.grammar.tokens import Token, tokens

# A placeholder literal for parameters whose values are not known yet.
PARAMETER = "'?'"


def pieces(text: str) -> tuple[list[str], list[str | None]]:
    """Returns the texts between the markers, and the name of each marker (None for `?`)."""
    between, names, end = list[str](), list[str | None](), 0
    words = list(tokens(text))
    for position, (token, following) in enumerate(pairwise([*words, None])):
        if token is None or token.kind != "symbol" or token.text not in ("?", ":"):
            continue
        name: str | None = None
        if token.text == ":":
            if (
                following is None
                or following.kind != "word"
                or following.start != token.end
                or _is_field(words, position)
            ):
                continue
            name = following.text
        between.append(text[end : token.start])
        names.append(name)
        end = token.end if following is None or name is None else following.end
    return [*between, text[end:]], names


def _is_field(words: list[Token], position: int) -> bool:
    """Returns whether the colon follows the name of a field, as in STRUCT<a: INT, b: INT>."""
    if position < 2 or words[position - 1].kind not in ("word", "quoted"):
        return False
    return words[position - 2].text in ("<", ",")
