"""Generates type stubs from the specifications (`thrift_spec`) in the generated code: `python -m thrift_idl.stubs`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from thrift.Thrift import TType

GEN: Final = Path(__file__).parent / "gen"
_HEADER: Final = '''"""Written by thrift_idl/stubs.py from the generated code. Do not edit: run  make generate."""

from collections.abc import Mapping
from typing import Any, ClassVar

from thrift_idl.fields import Encoded, Field
'''
_SIMPLE: Final = {
    TType.BOOL: "bool",
    TType.BYTE: "int",
    TType.I16: "int",
    TType.I32: "int",
    TType.I64: "int",
    TType.DOUBLE: "float",
}
_MEMBERS: Final = """\
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ..."""


def stubs() -> dict[str, str]:
    """Returns the text of each stub by its path relative to `gen`."""
    paths = [path.relative_to(GEN).with_suffix("") for path in sorted(GEN.rglob("*.py")) if path.stem != "__init__"]
    return {f"{path}.pyi": _stub(importlib.import_module(".".join(("thrift_idl.gen", *path.parts)))) for path in paths}


def main() -> None:
    """Writes each stub into the directory of its module."""
    for name, text in stubs().items():
        (GEN / name).write_text(text)


def _stub(module: ModuleType) -> str:
    classes = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    blocks = ["\n".join(_class(module, each)) for each in classes]
    constants = [
        f"{name}: {type(value).__name__}"
        for name, value in vars(module).items()
        if type(value) in (str, int) and name[0] != "_"
    ]
    text = "\n\n".join([*(["\n".join(constants)] if constants else []), *blocks])
    others = sorted(path for path in GEN.rglob("*.py") if path.stem != "__init__")
    names = [".".join(("thrift_idl.gen", *path.relative_to(GEN).with_suffix("").parts)) for path in others]
    imports = [f"import {name}" for name in names if f"{name}." in text]
    return "\n".join([_HEADER, *imports, "", text, ""])


def _class(module: ModuleType, item: type[Any]) -> Iterator[str]:
    if "thrift_spec" in vars(item):
        yield from _struct(module, item)
    elif item.__name__ in ("Iface", "Client", "Processor"):
        yield from _service(module, item)
    else:
        yield f"class {item.__name__}:"
        yield from (f"    {name}: int" for name, value in vars(item).items() if isinstance(value, int))
        yield "    _VALUES_TO_NAMES: ClassVar[dict[int, str]]\n    _NAMES_TO_VALUES: ClassVar[dict[str, int]]"


def _struct(module: ModuleType, item: type[Any]) -> Iterator[str]:
    fields = [field for field in item.thrift_spec if field is not None]
    yield f"class {item.__name__}{'(Exception)' if issubclass(item, Exception) else ''}:"
    yield from (f"    {name}: Field[{_type(module, kind, details)}]" for _, kind, name, details, _ in fields)
    yield _MEMBERS
    parameters = [f", {name}: {_input_type(module, kind, details)} = ..." for _, kind, name, details, _ in fields]
    yield f"    def __init__(self{''.join(parameters)}) -> None: ..."


def _service(module: ModuleType, item: type[Any]) -> Iterator[str]:
    bases = [base for base in item.__bases__ if base.__module__.startswith("thrift_idl.")]
    yield f"class {item.__name__}({', '.join(_name(module, base) for base in bases)}):"
    if item.__name__ == "Client":
        yield "    def __init__(self, iprot: Any, oprot: Any = None) -> None: ..."
    elif item.__name__ == "Processor":
        yield "    _processMap: dict[str, Any]"
        yield "    def __init__(self, handler: Any) -> None: ..."
        yield "    def process(self, iprot: Any, oprot: Any) -> bool | None: ..."
        return
    suffix = "_args"
    for name in [name.removesuffix(suffix) for name in vars(module) if name.endswith(suffix)]:
        yield _method(module, name)


def _method(module: ModuleType, name: str) -> str:
    fields = [field for field in getattr(module, f"{name}_args").thrift_spec if field is not None]
    result = getattr(module, f"{name}_result", None)
    success = [field for field in result.thrift_spec if field is not None and field[0] == 0] if result else []
    returned = _type(module, success[0][1], success[0][3]) if success else "None"
    parameters = [f", {field[2]}: {_input_type(module, field[1], field[3])}" for field in fields]
    return f"    def {name}(self{''.join(parameters)}) -> {returned}: ..."


def _input_type(module: ModuleType, kind: int, details: Any) -> str:
    """Returns the type of the values that may be assigned to a field."""
    plain = _type(module, kind, details)
    encoded = f" | Encoded[{plain}]" if kind in (TType.STRUCT, TType.LIST, TType.MAP) else ""
    return f"{plain}{encoded} | None"


def _type(module: ModuleType, kind: int, details: Any) -> str:
    """Returns the type of a field, by its entry in a specification."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == TType.STRING:
        return "bytes" if details == "BINARY" else "str"
    if kind == TType.STRUCT:
        return _name(module, details[0])
    immutable = details[-1]
    if kind == TType.MAP:
        inner = ", ".join(_type(module, *pair) for pair in (details[0:2], details[2:4]))
        return f"{'Mapping' if immutable else 'dict'}[{inner}]"
    inner = _type(module, *details[0:2])
    if kind == TType.SET:
        return f"{'frozenset' if immutable else 'set'}[{inner}]"
    return f"tuple[{inner}, ...]" if immutable else f"list[{inner}]"


def _name(module: ModuleType, item: type[Any]) -> str:
    return item.__name__ if item.__module__ == module.__name__ else f"{item.__module__}.{item.__name__}"


if __name__ == "__main__":
    main()
