"""Parser of filters: the grammars of Hive's PartitionFilter.g4 and of its older Filter.g, without recursion.

It accepts more than Hive: IN without parentheses around the key, any number of structs, and decimals.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from metastore.domain.expression import And, Compare, Expression, In, IsNull, Like, Not, Operator, Or, columns
from metastore.domain.filters.lexer import Kind, Token, syntax_error, tokens_of
from metastore.domain.keys import KeyKind, sort_key
from metastore.domain.names import fold_column
from metastore.errors import InvalidInputError

_OPERATORS = {operator.value: operator for operator in Operator} | {
    "==": Operator.EQUAL,
    "<>": Operator.NOT_EQUAL,
}
_ANY_CASE = "(?i)"  # Java's flag for case-insensitive patterns
# Keys with these names need backticks. Other keywords (date, struct …) are recognized by the token after them, because
# Spark sends names without backticks and a table may be partitioned by `date`.
_RESERVED = frozenset({"and", "or", "not", "in", "like", "between"})
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_LITERALS = {
    "date": (KeyKind.DATE, (Kind.STRING, Kind.DATE)),
    "timestamp": (KeyKind.TIMESTAMP, (Kind.STRING, Kind.TIMESTAMP)),
}

_END = Token(Kind.END, "", 0)  # for lookahead beyond the END token

T = TypeVar("T")


def parse_filter(
    text: str | None, *, fold_names: bool = True, keys: Iterable[str] = (), sql: bool = False
) -> Expression | None:
    """Parses a filter. Returns None for an empty filter, which matches everything.

    `keys`: names that may be in the filter without backticks, with any characters.
    `sql`: the filter selects rows. LIKE has only SQL's meaning, and IS NULL and IS NOT NULL are allowed.

    Raises InvalidInputError "Error parsing partition filter: …" with the position of the error.
    """
    if text is None or not text.strip():
        return None
    parser = _Parser(tokens_of(text, keys), fold_column if fold_names else str, sql=sql)
    try:
        return parser.filter()
    except InvalidInputError as error:
        raise _prefixed(error) from error


def check_columns(expression: Expression, keys: Iterable[str]) -> None:
    """Raises InvalidInputError if the predicate has a column that is not one of the partition keys."""
    unknown = columns(expression) - {fold_column(key) for key in keys}
    if unknown:
        raise InvalidInputError(f"Specified key <{min(unknown)}> is not a partitioning key for the table")


class _Parser:
    """Parses tokens one by one.

    Each open parenthesis has a list of alternatives (OR). Each alternative is a list of conditions (AND).
    """

    def __init__(self, tokens: Iterator[Token], name: Callable[[str], str], *, sql: bool) -> None:
        self._tokens = tokens
        self._name = name
        self._sql = sql
        self._ahead: deque[Token] = deque()  # lookahead

    def filter(self) -> Expression:
        open_groups: list[list[list[Expression]]] = [[[]]]
        while True:
            if self._opens_group():
                self._take()
                open_groups.append([[]])
                continue
            open_groups[-1][-1].append(self._condition())
            while len(open_groups) > 1 and self._accept(")"):
                closed = open_groups.pop()
                open_groups[-1][-1].append(_disjunction(closed))
            if self._peek().kind is Kind.END and len(open_groups) == 1:
                return _disjunction(open_groups[0])
            if self._accept("or"):
                open_groups[-1].append([])
            elif not self._accept("and"):
                raise syntax_error("expected AND, OR" + (" or )" if len(open_groups) > 1 else ""), self._peek())

    def _condition(self) -> Expression:
        if self._accept("("):
            return self._struct_in() if self._starts_struct() else self._key_in_parentheses()
        if self._starts_constant():
            return self._mirrored()
        key = self._key()
        if self._sql and self._accept("is"):
            negated = self._accept("not")
            self._expect("null")
            return _unless(IsNull(key), negated=negated)
        negated = self._accept("not")
        if self._accept("between"):
            return self._between(key, negated=negated)
        if self._accept("in"):
            return _unless(In(key, tuple(self._list(self._constant))), negated=negated)
        if negated and not self._sql:
            raise syntax_error("expected BETWEEN or IN", self._peek())
        if negated and self._peek().keyword != "like":
            raise syntax_error("expected BETWEEN, IN or LIKE", self._peek())
        if self._accept("like"):
            pattern = self._constant()
            return _unless(Like(key, pattern), negated=negated) if self._sql else _like(key, pattern)
        return Compare(key, self._operator(), self._constant())

    def _mirrored(self) -> Expression:
        value = self._constant()
        if self._peek().keyword == "like":
            raise syntax_error("the pattern of LIKE must be on its right", self._peek())
        operator = self._operator()
        return Compare(self._key(), operator.mirrored, value)

    def _between(self, key: str, *, negated: bool) -> Expression:
        lower = self._constant()
        self._expect("and")
        upper = self._constant()
        if negated:
            return Or((Compare(key, Operator.LESS, lower), Compare(key, Operator.GREATER, upper)))
        return And((Compare(key, Operator.GREATER_OR_EQUAL, lower), Compare(key, Operator.LESS_OR_EQUAL, upper)))

    def _key_in_parentheses(self) -> Expression:
        key = self._key()
        self._expect(")")
        negated = self._accept("not")
        self._expect("in")
        return _unless(In(key, tuple(self._list(self._constant))), negated=negated)

    def _struct_in(self) -> Expression:
        self._expect("struct")
        keys = self._list(self._key)
        self._expect(")")
        negated = self._accept("not")
        self._expect("in")
        start = self._peek()
        structs = self._list(self._struct)
        if any(len(struct) != len(keys) for struct in structs):
            raise syntax_error(f"Struct keys {keys} and values sizes do not match", start)
        any_of = Or(tuple(And(tuple(map(_equal, keys, struct))) for struct in structs))
        return _unless(any_of, negated=negated)

    def _struct(self) -> list[str]:
        self._accept("const")
        self._expect("struct")
        return self._list(self._constant)

    def _list(self, element: Callable[[], T]) -> list[T]:
        self._expect("(")
        elements = [element()]
        while self._accept(","):
            elements.append(element())
        self._expect(")")
        return elements

    def _key(self) -> str:
        token = self._peek()
        word = token.kind is Kind.WORD and token.keyword not in _RESERVED and not _NUMBER.fullmatch(token.text)
        if not word and token.kind is not Kind.NAME:
            raise syntax_error("expected a key", token)
        self._take()
        return self._name(token.text)

    def _operator(self) -> Operator:
        token = self._peek()
        if token.text == "<=>" and token.kind is Kind.SIGN:
            raise syntax_error("Unsupported comparison operator: <=>", token)
        if token.kind is not Kind.SIGN or token.text not in _OPERATORS:
            raise syntax_error("expected a comparison", token)
        self._take()
        return _OPERATORS[token.text]

    def _constant(self) -> str:
        token = self._peek()
        if not self._starts_constant():
            raise syntax_error("expected a constant, a number or a text in quotes", token)
        self._take()
        if token.kind is Kind.STRING:
            return self._string(token)
        if token.kind in (Kind.DATE, Kind.TIMESTAMP):
            return _checked(KeyKind(token.kind.value), token.text, token)
        if token.keyword in _LITERALS:
            value = self._take()
            text = value.text[1:-1] if value.kind is Kind.STRING else value.text
            return _checked(_LITERALS[token.keyword][0], text, token)
        return f"-{self._take().text}" if token.text == "-" else token.text

    def _string(self, first: Token) -> str:
        """Returns the text of a string. Adjacent strings are concatenated without removing the quotes between them.

        So a doubled quote stays in the text, as in Hive.
        """
        parts = [first.text]
        while self._peek().kind is Kind.STRING:
            parts.append(self._take().text)
        text = "".join(parts)
        return text[1:-1] if text[0] == text[-1] else text

    def _starts_constant(self) -> bool:
        token, following = self._peek(), self._peek(1)
        if token.text == "-" and token.kind is Kind.SIGN:
            return following.kind is Kind.WORD and _NUMBER.fullmatch(following.text) is not None
        if token.keyword in _LITERALS:
            return following.kind in _LITERALS[token.keyword][1]
        return token.kind in (Kind.STRING, Kind.DATE, Kind.TIMESTAMP) or (
            token.kind is Kind.WORD and _NUMBER.fullmatch(token.text) is not None
        )

    def _starts_struct(self) -> bool:
        return self._peek().keyword == "struct" and self._peek(1).text == "("

    def _opens_group(self) -> bool:
        """Returns whether the next token is a parenthesis that is not part of `(key) IN`."""
        if self._peek().kind is not Kind.SIGN or self._peek().text != "(":
            return False
        key, closing, word = self._peek(1), self._peek(2), self._peek(3)
        if key.keyword == "struct" and closing.text == "(":
            return False
        return not (key.kind in (Kind.WORD, Kind.NAME) and closing.text == ")" and word.keyword in ("in", "not"))

    def _peek(self, ahead: int = 0) -> Token:
        while len(self._ahead) <= ahead:
            self._ahead.append(next(self._tokens, self._ahead[-1] if self._ahead else _END))
        return self._ahead[ahead]

    def _take(self) -> Token:
        self._peek()
        return self._ahead.popleft()

    def _accept(self, text: str) -> bool:
        token = self._peek()
        if text != (token.text if token.kind is Kind.SIGN else token.keyword):
            return False
        self._take()
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise syntax_error(f"expected {text.upper()}", self._peek())


def _disjunction(groups: list[list[Expression]]) -> Expression:
    parts = [group[0] if len(group) == 1 else And(tuple(group)) for group in groups]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _unless(expression: Expression, *, negated: bool) -> Expression:
    return Not(expression) if negated else expression


def _equal(column: str, value: str) -> Expression:
    return Compare(column, Operator.EQUAL, value)


def _checked(kind: KeyKind, text: str, token: Token) -> str:
    if sort_key(kind, text) is None:
        raise syntax_error(f"'{text}' is not a {kind.value}", token)
    return text


def _like(column: str, pattern: str) -> Expression:
    """Returns a predicate for LIKE that covers all its dialects.

    Hive 4 uses SQL wildcards. Hive 2 and 3 use Java's `.` and `.*`; Spark adds these to texts that it does not escape.
    The dialect of a pattern is not known and no match may be lost, so the predicate matches either meaning. Clients of
    Hive 4.1 search tables case-insensitively with a Java flag: `(?i)first.*`.
    """
    any_case = pattern.startswith(_ANY_CASE)
    pattern = pattern.removeprefix(_ANY_CASE)
    patterns = [pattern]
    if "." in pattern:
        patterns += [_sql_pattern(pattern), _sql_pattern(pattern.replace("\\", "\\\\"))]
    likes = tuple(Like(column, pattern, any_case) for pattern in dict.fromkeys(patterns))
    return likes[0] if len(likes) == 1 else Or(likes)


def _sql_pattern(java: str) -> str:
    def translated(match: re.Match[str]) -> str:
        text = match.group()
        return {".*": "%", ".": "_"}.get(text) or f"\\{text[-1]}"

    return re.sub(r"\.\*|\.|\\.|[%_]", translated, java, flags=re.DOTALL)


def _prefixed(error: InvalidInputError) -> InvalidInputError:
    prefix, text = "Error parsing partition filter: ", str(error)
    return error if text.startswith(prefix) else InvalidInputError(prefix + text)
