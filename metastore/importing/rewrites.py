"""Rewriting of locations: `--rewrite-location from=to` replaces prefixes, where a source still has an old name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metastore.domain.location_properties import READERS
from metastore.encoding.structs import shallow_copy
from metastore.errors import InvalidInputError
from metastore.importing.sources.objects import Shape, SourcePartition
from thrift_idl.gen.hive_metastore.ttypes import (
    Catalog,
    Database,
    Function,
    ResourceUri,
    SkewedInfo,
    StorageDescriptor,
    Table,
)


class Rewriting:
    """Replaces prefixes of locations. The first rule whose prefix matches is applied, once."""

    def __init__(self, rules: Sequence[str]) -> None:
        """`rules`: texts `from=to`. Raises InvalidInputError."""
        self._rules: list[tuple[str, str]] = []
        self._shapes: dict[Shape, Shape] = {}
        for rule in rules:
            before, separator, after = rule.partition("=")
            if not separator or not before or not after:
                raise InvalidInputError(f"--rewrite-location {rule!r} is not of the form from=to")
            self._rules.append((before, after))

    def location(self, text: Any) -> Any:
        """Returns the location with its new prefix, or unchanged."""
        for before, after in self._rules if text else ():
            whole = before.endswith(("/", ":"))
            if text == before or (text.startswith(before) and (whole or text[len(before)] == "/")):
                return after + text[len(before) :]
        return text

    def rewrite(self, struct: Any) -> Any:
        """Returns the object with rewritten locations. Partitions are changed in place."""
        if not self._rules:
            return struct
        match struct:
            case Database() | Catalog():
                struct = shallow_copy(struct)
                struct.locationUri = self.location(struct.locationUri)
            case Table():
                struct = shallow_copy(struct)
                struct.sd = self._descriptor(struct.sd)
                struct.parameters = self._properties(struct.parameters)
            case SourcePartition(table, name, partition, shape, _):
                partition.sd.location = self.location(partition.sd.location)
                partition.sd.skewedInfo = self._skewed(partition.sd.skewedInfo)
                partition.parameters = self._properties(partition.parameters)
                return SourcePartition(table, name, partition, self._shape(shape))
            case Function():
                struct = shallow_copy(struct)
                struct.resourceUris = [
                    ResourceUri(one.resourceType, self.location(one.uri)) for one in struct.resourceUris or ()
                ]
        return struct

    def _descriptor(self, sd: StorageDescriptor) -> StorageDescriptor:
        new = shallow_copy(sd)
        new.location = self.location(sd.location)
        new.skewedInfo = self._skewed(sd.skewedInfo)
        new.parameters = self._properties(sd.parameters)
        new.serdeInfo = shallow_copy(sd.serdeInfo)
        new.serdeInfo.parameters = self._properties(sd.serdeInfo.parameters)
        return new

    def _shape(self, shape: Shape) -> Shape:
        """Returns the shape with rewritten parameters. The same shape gives the same result."""
        if len(self._shapes) > 1_000:
            self._shapes.clear()
        if shape not in self._shapes:
            self._shapes[shape] = Shape(self._descriptor(shape.sd))
        return self._shapes[shape]

    def _properties(self, properties: dict[str, str] | None) -> dict[str, str]:
        """Returns properties with rewritten values of those that clients read locations from."""
        pairs = (properties or {}).items()
        return {name: self.location(text) if name.lower() in READERS else text for name, text in pairs}

    def _skewed(self, info: SkewedInfo) -> SkewedInfo:
        locations = info.skewedColValueLocationMaps or {}
        return SkewedInfo(
            info.skewedColNames,
            info.skewedColValues,
            {value: self.location(location) for value, location in locations.items()},
        )
