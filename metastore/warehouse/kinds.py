"""The file systems by scheme: fsspec's, except our own for S3."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import fsspec

_ABSTRACT: Final = ("fsspec.spec", "fsspec.asyn")  # modules of base classes, which define every operation
_s3: Final = {"seconds": 15.0}  # time limit of a request


def set_s3_timeout(seconds: float) -> None:
    """Sets the time limit of requests to S3 in this process, in seconds."""
    _s3["seconds"] = seconds
    _resolved.cache_clear()


def file_system(scheme: str, authority: str) -> tuple[Any, str]:
    """Returns a file system, and the prefix of paths in it (for example the bucket)."""
    kind, options, root = _resolved(scheme, authority)
    # Listings are not cached: others write, too.
    return kind(**options, use_listings_cache=False), (root if authority else "").rstrip("/")


@lru_cache(maxsize=64)
def _resolved(scheme: str, authority: str) -> tuple[Callable[..., Any], dict[str, Any], str]:
    """Returns the class of a file system, its options and its root, as fsspec's slow `url_to_fs` would.

    The path is not part of the URL: fsspec would interpret `::` in it.
    """
    kind, bounds = fsspec.get_filesystem_class(scheme), {}
    if scheme == "s3":
        from metastore.warehouse.s3 import BoundedS3

        kind, bounds = BoundedS3, _s3
    url = f"{scheme}://{authority}"
    return kind, kind._get_kwargs_from_urls(url) | bounds, kind._strip_protocol(url)  # noqa: SLF001 - as url_to_fs does


def supports_deletion(files: type[Any]) -> bool:
    """Returns whether a file-system class implements deletion: `http:`, for example, is read-only."""
    names = ("rm", "rm_file", "_rm", "_rm_file")
    return any(name in vars(kind) for kind in files.__mro__ if kind.__module__ not in _ABSTRACT for name in names)
