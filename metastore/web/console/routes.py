"""The addresses of the console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from metastore.web.console.site import Page, Site, json_path

STATIC: Final = Path(__file__).parents[1] / "static"


@dataclass(frozen=True)
class Console:
    """The pages, and the objects that serve them."""

    site: Site
    pages: Sequence[Page]

    def routes(self) -> list[BaseRoute]:
        """Returns the routes of all pages, of the login, and of the files that pages load."""
        return [
            *(Route(json_path(page.path), partial(self.site.page, page)) for page in self.pages),
            *(Route(page.path, partial(self.site.page, page)) for page in self.pages),
            Route("/login", self.site.login, methods=["GET", "POST"]),
            Route("/logout", self.site.logout, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
