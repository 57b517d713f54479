"""Digests of objects by kind. A digest is a sum over the objects, so it depends neither on their order nor on batches.

Two servers have the same digest of a kind if their objects have the same canonical forms. Digests of the same objects
read through Thrift and from a database can differ where Thrift does not return everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final

from metastore.importing.canonical import Form, form_of, shape_form
from metastore.importing.identities import identity_of, identity_text
from metastore.importing.sources.objects import Shape, SourcePartition

_BYTES: Final = 16
_SHAPES: Final = 10_000


class Digests:
    """Sums of digests, by kind."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        """`texts`: of earlier objects, as `texts` returns them."""
        self._sums = {kind: int(text, 16) for kind, text in (texts or {}).items()}
        self._shapes: dict[Shape, str] = {}

    def add(self, kind: str, digest: int) -> None:
        """Adds the digest of some objects. A kind without objects has no digest."""
        if digest:
            self._sums[kind] = (self._sums.get(kind, 0) + digest) % (1 << 8 * _BYTES)

    def forget(self, kinds: Iterable[str]) -> None:
        """Removes kinds."""
        for kind in kinds:
            self._sums.pop(kind, None)

    def texts(self) -> dict[str, str]:
        """Returns the digests as hexadecimal digits, by kind."""
        return {kind: f"{number:0{2 * _BYTES}x}" for kind, number in self._sums.items()}

    def whole(self) -> str:
        """Returns one digest of all kinds."""
        return hashlib.blake2b(repr(sorted(self.texts().items())).encode(), digest_size=_BYTES).hexdigest()

    def of(self, objects: Iterable[Any]) -> int:
        """Returns the digest of objects of one kind. Objects that comparisons leave out have no part in it."""
        return sum(map(self._of, objects))

    def text(self, partition: SourcePartition) -> bytes:
        """Returns a text that is equal for partitions of a table with the same form."""
        table, struct = partition.table, partition.partition
        location, skewed = struct.sd.location, struct.sd.skewedInfo.skewedColValueLocationMaps
        head = f"{self._of_shape(partition.shape)} {struct.createTime} {len(struct.values)} {location is None}"
        parameters = chain(*sorted(struct.parameters.items()))
        names = (table.catalog, table.database, table.name, partition.name)
        texts = [head, *names, location or "", *struct.values, *parameters]
        if skewed:
            texts.append(repr(sorted(skewed.items())))
        return _bytes("\0".join(texts))  # no text contains NUL: sources replace it

    def of_texts(self, texts: Iterable[bytes]) -> int:
        """Returns the digest of partitions with these texts."""
        return sum(map(_number, texts))

    @staticmethod
    def of_form(identity: Any, form: Form) -> int:
        """Returns the digest of an object that is not a partition."""
        return _number(_bytes(repr((identity_text(identity), sorted(form.items())))))

    def _of_shape(self, shape: Shape) -> str:
        """Returns the digest of a shape. It is computed once: many partitions share the shape."""
        if (text := self._shapes.get(shape)) is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            form = _bytes(repr(sorted(shape_form(shape.sd).items())))
            text = self._shapes[shape] = hashlib.blake2b(form, digest_size=_BYTES).hexdigest()
        return text

    def _of(self, one: Any) -> int:
        if isinstance(one, SourcePartition):
            return _number(self.text(one))
        identity = identity_of(one)
        return 0 if identity is None else self.of_form(identity, form_of(one))


def digest_of_texts(texts: Iterable[str]) -> str:
    """Returns the digest of a set of texts."""
    return hashlib.blake2b(_bytes(repr(sorted(set(texts)))), digest_size=_BYTES).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _number(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=_BYTES).digest())
