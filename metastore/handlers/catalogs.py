"""Handlers of catalogs, and of the metastore's identity."""

from __future__ import annotations

from metastore.domain.names import fold
from metastore.operations.answer_filters import catalog, catalogs
from metastore.operations.operation import change, data_administrator, from_fields, operation
from metastore.services.catalogs import CatalogService
from thrift_idl.gen.hive_metastore.ttypes import (
    AlterCatalogRequest,
    Catalog,
    CreateCatalogRequest,
    DropCatalogRequest,
    GetCatalogRequest,
    GetCatalogResponse,
    GetCatalogsResponse,
)


class CatalogHandlers:
    """`*_catalog*`."""

    def __init__(self, catalogs: CatalogService) -> None:
        self._catalogs = catalogs

    @change("catalog.catalog.name", data_administrator)
    def create_catalog(self, request: CreateCatalogRequest) -> None:
        self._catalogs.create(request.catalog or Catalog())

    @change("rqst.name", data_administrator)
    def alter_catalog(self, request: AlterCatalogRequest) -> None:
        self._catalogs.alter(fold(request.name), request.newCat or Catalog())

    @operation("catName.name", answer_filter=from_fields(catalog, "catName.name"))
    def get_catalog(self, request: GetCatalogRequest) -> GetCatalogResponse:
        return GetCatalogResponse(self._catalogs.get(fold(request.name)))

    @operation(None, answer_filter=catalogs)
    def get_catalogs(self) -> GetCatalogsResponse:
        return GetCatalogsResponse(self._catalogs.names())

    @change("catName.name", data_administrator)
    def drop_catalog(self, request: DropCatalogRequest) -> None:
        self._catalogs.drop(fold(request.name), if_exists=bool(request.ifExists))

    @operation(None)
    def get_metastore_db_uuid(self) -> str:
        return self._catalogs.identity()
