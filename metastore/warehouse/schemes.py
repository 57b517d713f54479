"""The schemes of locations on which the server can keep managed data."""

from __future__ import annotations

from typing import Final, NamedTuple


class Scheme(NamedTuple):
    """A scheme: other names of it, the Python module that serves it, and the extra in pyproject.toml with its package.

    `module` and `extra` are empty if no package is needed.
    """

    synonyms: tuple[str, ...] = ()
    module: str = ""
    extra: str = ""


SERVED: Final = {
    "file": Scheme(("local",)),  # fsspec also calls the local file system `local`
    "s3": Scheme(("s3a", "s3n"), "s3fs", "s3"),  # Hadoop had three connectors
    "gs": Scheme(("gcs",), "gcsfs", "gcs"),
    "abfs": Scheme(("abfss",), "adlfs", "azure"),
    "hdfs": Scheme((), "pyarrow", "hdfs"),
}
_CANONICAL: Final = {synonym: name for name, scheme in SERVED.items() for synonym in scheme.synonyms}


def canonical(scheme: str) -> str:
    """Returns one name for all synonyms of a scheme: `s3` for `s3a`."""
    return _CANONICAL.get(scheme, scheme)


def synonyms(scheme: str) -> tuple[str, ...]:
    """Returns the other names of a canonical scheme."""
    return SERVED.get(scheme, Scheme()).synonyms
