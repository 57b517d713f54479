"""Reads the tokens of a statement, and reports the position of syntax errors. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.tokens import Token, tokens


@contextmanager
def usage(form: str) -> Iterator[None]:
    """Adds the form of a statement to the errors of its parser."""
    try:
        yield
    except InvalidStatementError as error:
        raise InvalidStatementError(f"{error}. Write: {form}") from None


class Reader:
    """A position in the tokens of one statement. Semicolons outside parentheses are skipped."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [token for token in tokens(text) if not token.matches(";") or token.depth]
        self._next = 0

    @property
    def end(self) -> int:
        """The end of the last token that was read, as a position in the text."""
        return self._tokens[self._next - 1].end

    def text_from(self, token: Token) -> str:
        """Returns the text as written, from a token to the last one that was read."""
        return self._text[token.start : self.end]

    def peek(self) -> Token | None:
        """Returns the next token without reading it, or None at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def next(self) -> Token:
        """Reads and returns the next token. Raises InvalidStatementError at the end."""
        token = self.peek()
        if token is None:
            raise self._expected("more")
        self._next += 1
        return token

    def take(self, *words: str) -> bool:
        """Reads these words if all of them are next, and returns whether they are. Otherwise reads nothing."""
        ahead = self._tokens[self._next : self._next + len(words)]
        if len(ahead) < len(words) or not all(token.matches(word) for token, word in zip(ahead, words, strict=True)):
            return False
        self._next += len(words)
        return True

    def ends_with(self, *words: str) -> bool:
        """Returns whether exactly these words remain."""
        return len(self._tokens) - self._next == len(words) and all(
            token.matches(word) for token, word in zip(self._tokens[self._next :], words, strict=True)
        )

    def follows(self, word: str) -> bool:
        """Returns whether the last token that was read is this word."""
        return self._next > 0 and self._tokens[self._next - 1].matches(word)

    def at_query(self) -> bool:
        """Returns whether the query of a CREATE TABLE is next, with or without AS.

        STORED AS and NULL DEFINED AS end with the same word, and MAP KEYS TERMINATED BY begins with one of a query.
        WITH is missing, as it also begins clauses of CREATE TABLE.
        """
        token = self.peek()
        if token is None or token.depth:
            return False
        if token.matches("AS"):
            return not (self.follows("STORED") or self.follows("DEFINED"))
        ahead = self._tokens[self._next + 1 : self._next + 2]
        is_clause = token.matches("MAP") and bool(ahead) and ahead[0].matches("KEYS")
        return token.matches("SELECT", "FROM", "VALUES", "MAP", "REDUCE") and not is_clause

    def expect(self, word: str) -> None:
        """Reads this word. Raises InvalidStatementError if another one is next."""
        if not self.take(word):
            raise self._expected(repr(word))

    def expect_end(self) -> None:
        """Raises InvalidStatementError if there is another token."""
        if self.peek() is not None:
            raise self._expected("the end of the statement")

    def identifier(self) -> str:
        """Reads a name and returns it without backquotes, in lower case."""
        token = self.peek()
        if token is None or token.kind not in ("word", "quoted"):
            raise self._expected("a column name")
        return self.next().name

    def multipart_name(self) -> str | None:
        """Reads a table's name and returns it as written (`a.b`), or None if none is next."""
        first = self.peek()
        while (token := self.peek()) is not None and token.kind in ("word", "quoted"):
            self.next()
            if not self.take("."):
                return self._text[first.start : self.end] if first else None
        return None

    def table_name(self) -> str:
        """Reads the name of an object and returns it as written. Raises InvalidStatementError if none is next."""
        name = self.multipart_name()
        if name is None:
            raise self._expected("a name")
        return name

    def literal(self) -> str:
        """Reads a literal, as written: a signed number, a string, DATE '…', TIMESTAMP '…', TRUE, FALSE or NULL."""
        start = self._next
        if self.take("-") or self.take("+"):
            constants: tuple[str, ...] = ("number",)
        elif self.take("DATE") or self.take("TIMESTAMP"):
            constants = ("string",)
        elif self.take("TRUE") or self.take("FALSE") or self.take("NULL"):
            return self._text[self._tokens[start].start : self.end]
        else:
            constants = ("number", "string")
        token = self.peek()
        if token is None or token.kind not in constants:
            raise self._expected("a constant")
        self.next()
        while token.kind == "string" and (more := self.peek()) is not None and more.kind == "string":
            self.next()  # 'a' 'b' is one string
        return self._text[self._tokens[start].start : self.end]

    def brackets(self) -> str:
        """Reads parentheses with their contents and returns them as written."""
        opening = self.peek()
        self.skip_brackets()
        return self.text_from(opening) if opening else ""

    def skip_brackets(self) -> bool:
        """Reads parentheses with their contents."""
        opening = self.peek()
        self.expect("(")
        while opening is not None:
            token = self.next()
            if token.matches(")") and token.depth == opening.depth:
                break
        return True

    def _expected(self, expected: str) -> InvalidStatementError:
        token = self.peek()
        actual = f"{token.text!r} at character {token.start + 1}" if token else "the end of the statement"
        return InvalidStatementError(f"expected {expected}, found {actual}: {_around(self._text, token)}")


def _around(text: str, token: Token | None) -> str:
    """Returns the text around the error, on one line."""
    position = token.start if token else len(text)
    return "… " + " ".join(text[max(0, position - 40) : position + 20].split()) + " …"
