"""Reads the texts of views, so that calls that ask for dependencies need not."""

from __future__ import annotations

from metastore.services.cascade.views import read_texts
from metastore.services.service import Service


class ViewTextService(Service):
    """The job of a timer."""

    def read(self) -> None:
        """Reads the texts of some new and changed views (`cascade.views`)."""
        read_texts(self._store)
