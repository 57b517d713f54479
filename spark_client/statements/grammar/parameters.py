"""The markers of parameters in a statement: `:name` and `?`. Pure."""

from __future__ import annotations

from itertools import pairwise

from spark_client.statements.grammar.tokens import Token, tokens

# A constant that stands for the value of a parameter, as long as it is not known.
PARAMETER = "'?'"


def pieces(text: str) -> tuple[list[str], list[str | None]]:
    """Returns the text between the markers, and for each its name, None for `?`."""
    between, names, end = list[str](), list[str | None](), 0
    words = list(tokens(text))
    for place, (token, behind) in enumerate(pairwise([*words, None])):
        if token is None or token.kind != "symbol" or token.text not in ("?", ":"):
            continue
        name: str | None = None
        if token.text == ":":
            if behind is None or behind.kind != "word" or behind.start != token.end or _is_field(words, place):
                continue
            name = behind.text
        between.append(text[end : token.start])
        names.append(name)
        end = token.end if behind is None or name is None else behind.end
    return [*between, text[end:]], names


def _is_field(words: list[Token], place: int) -> bool:
    """Tells whether the colon stands behind the name of a field: STRUCT<a: INT, b: INT>."""
    if place < 2 or words[place - 1].kind not in ("word", "quoted"):
        return False
    return words[place - 2].text in ("<", ",")
