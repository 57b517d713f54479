"""UTF-8 texts in latin1 columns of MySQL: Hive's scripts declare latin1, and most of its clients write UTF-8 into it.

Whether a database contains such texts is decided once for all of its columns. In a database whose clients write latin1,
no text changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from metastore.storage.importing.imports import Finding

KIND: Final = "latin1"
UTF8, LATIN1 = "utf8", "latin1"
"""How the texts of latin1 columns are read."""
_SHOWN: Final = 3
"""Examples of one column in a plan."""
_LENGTH: Final = 60  # characters of an example

# cp1252 leaves five bytes undefined; MySQL's latin1 maps those to the C1 control characters with the same numbers.
_CODES: Final = {bytes((code,)).decode("cp1252", "replace"): code for code in range(0x80, 0xA0)} | {
    chr(code): code for code in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
_CHARACTERS: Final = {code: char for char, code in _CODES.items() if char != "\ufffd"}

Column = tuple[str, str]
"""A table and its column."""


class Evidence(NamedTuple):
    """Texts of latin1 columns that are not ASCII: those whose bytes are UTF-8, and the others."""

    as_utf8: Mapping[Column, list[str]]
    as_latin1: Mapping[Column, list[str]]

    @property
    def is_utf8(self) -> bool:
        """Whether the clients of the database write UTF-8, as most do: no more than half of its texts are latin1."""
        utf8, latin1 = (sum(map(len, texts.values())) for texts in self)
        return utf8 >= latin1

    def findings(self, *, is_utf8: bool) -> list[Finding]:
        """Returns the decision with examples of each column, before and after."""
        reason = "most texts of this database are latin1" if not self.is_utf8 else "--text-encoding latin1"
        changed = "is read as UTF-8" if is_utf8 else f"stays as it is: {reason}"
        found = [
            Finding(KIND, f"{table}.{column}", f"{_short(text)!r} {changed}{_after(text) if is_utf8 else ''}")
            for (table, column), texts in sorted(self.as_utf8.items())
            for text in texts[:_SHOWN]
        ]
        return found + [
            Finding(KIND, f"{table}.{column}", f"{_short(text)!r} stays as it is: it is not UTF-8")
            for (table, column), texts in sorted(self.as_latin1.items())
            for text in texts[:_SHOWN]
        ]


class Latin1Texts:
    """Decodes the texts of one database. The evidence is collected at the first text that is not ASCII."""

    def __init__(self, columns: Iterable[Column], read: Callable[[Column], list[str]]) -> None:
        """`read`: returns different texts of a column that are not ASCII, as the connection decodes them."""
        self._columns = sorted(columns)
        self._read = read
        self._evidence: Evidence | None = None
        self.decision: bool | None = None
        """Whether texts are UTF-8, if an earlier reading or the user has decided it."""

    @property
    def is_utf8(self) -> bool:
        """Whether the clients of the database write UTF-8."""
        return self.evidence.is_utf8 if self.decision is None else self.decision

    def read_as(self, encoding: str | None) -> str:
        """Sets UTF8 or LATIN1; None: the texts decide now. Returns the encoding, which no longer changes."""
        self.decision = None if encoding is None else encoding == UTF8
        self.decision = self.is_utf8
        return UTF8 if self.decision else LATIN1

    def findings(self) -> list[Finding]:
        """Returns the decision with examples."""
        return self.evidence.findings(is_utf8=self.is_utf8)

    @property
    def evidence(self) -> Evidence:
        if self._evidence is None:
            found = Evidence({}, {})
            for column in self._columns:
                for text in self._read(column):
                    of = found.as_latin1 if _from_latin1(text) is None else found.as_utf8
                    of.setdefault(column, []).append(text)  # type: ignore[attr-defined] # made above
            self._evidence = found
        return self._evidence

    def decoded(self, text: str) -> str:
        """Returns a text of a latin1 column as its writer meant it."""
        if text.isascii() or not self.is_utf8:
            return text
        utf8 = _from_latin1(text)
        return text if utf8 is None else utf8

    def spellings(self, texts: Iterable[str]) -> list[str]:
        """Returns texts as a query finds them: also as latin1 columns contain their UTF-8 bytes."""
        wanted = list(texts)
        if all(map(str.isascii, wanted)) or not self.is_utf8:
            return wanted
        return list(dict.fromkeys([*wanted, *map(_as_latin1, wanted)]))


def _from_latin1(text: str) -> str | None:
    """Returns the UTF-8 text that a client has stored in a latin1 column, byte by byte; None if it is not UTF-8."""
    try:
        return bytes(_CODES.get(char, ord(char)) for char in text).decode()
    except ValueError:  # no valid UTF-8, or characters that latin1 does not have
        return None


def _as_latin1(text: str) -> str:
    """Returns the characters of latin1 with the bytes of a text in UTF-8."""
    return "".join(_CHARACTERS.get(byte, chr(byte)) for byte in text.encode(errors="surrogatepass"))


def _short(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"


def _after(text: str) -> str:
    return f": {_short(_from_latin1(text) or text)!r}"
