"""Digests of objects by kind. A digest is a sum over the objects, so it depends neither on their order nor on batches.

Two servers have the same digest of a kind if their objects have the same canonical forms. Digests of the same objects
read through Thrift and from a database can differ where Thrift does not return everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
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

    def of(self, objects: Sequence[Any]) -> int:
        """Returns the digest of objects of one kind. Objects that comparisons leave out have no part in it."""
        if objects and isinstance(objects[0], SourcePartition):
            return self.of_texts(self.partition_texts(objects))
        identified = ((identity_of(one), one) for one in objects)
        return sum(self.of_form(identity, form_of(one)) for identity, one in identified if identity is not None)

    def partition_texts(self, partitions: Iterable[SourcePartition]) -> list[bytes]:
        """Returns texts that are equal for partitions with the same form. Made for millions of partitions."""
        join, shapes, texts = "\0".join, self._shapes, []  # no text contains NUL: sources replace it
        for table, name, struct, shape, _ in partitions:
            of_shape = shapes.get(shape) or self._of_shape(shape)
            location, skewed = struct.sd.location, struct.sd.skewedInfo.skewedColValueLocationMaps
            head = f"{of_shape} {struct.createTime} {len(struct.values)} {location is None} {location}"
            names = (head, table.catalog, table.database, table.name, name)
            parameters = chain.from_iterable(sorted(struct.parameters.items()))
            text = join((*names, *struct.values, *parameters))
            texts.append((f"{text}{sorted(skewed.items())}" if skewed else text).encode(errors="surrogatepass"))
        return texts

    @staticmethod
    def of_texts(texts: Iterable[bytes]) -> int:
        """Returns the digest of partitions with these texts."""
        return sum(map(_number, texts))

    @staticmethod
    def of_form(identity: Any, form: Form) -> int:
        """Returns the digest of an object that is not a partition."""
        return _number(_bytes(repr((identity_text(identity), sorted(form.items())))))

    def _of_shape(self, shape: Shape) -> str:
        """Returns the digest of a shape, and remembers it: many partitions share the shape."""
        if len(self._shapes) >= _SHAPES:
            self._shapes.clear()
        form = _bytes(repr(sorted(shape_form(shape.sd).items())))
        text = self._shapes[shape] = hashlib.blake2b(form, digest_size=_BYTES).hexdigest()
        return text


def digest_of_texts(texts: Iterable[str]) -> str:
    """Returns the digest of a set of texts."""
    return hashlib.blake2b(_bytes(repr(sorted(set(texts)))), digest_size=_BYTES).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _number(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=_BYTES).digest())
