"""Fields of a filter over tables: owner, last access, name, type and parameters."""

from __future__ import annotations

import enum

from metastore.errors import InvalidInputError


class TableField(enum.Enum):
    """Keys of get_table_names_by_filter: the constants HIVE_FILTER_FIELD_… of hive_metastore.thrift."""

    OWNER = "hive_filter_field_owner__"
    LAST_ACCESS = "hive_filter_field_last_access__"
    NAME = "hive_filter_field_tableName__"
    TYPE = "hive_filter_field_tableType__"
    PARAMETER = "hive_filter_field_params__"


def table_field(column: str) -> tuple[TableField, str]:
    """Returns the field for a key of the filter, and the name of the parameter ("" for other fields).

    Raises InvalidInputError for any other key, with Hive's message (ExpressionTree).
    """
    for field in TableField:
        if field is TableField.PARAMETER and column.startswith(field.value):
            return field, column.removeprefix(field.value)
        if column == field.value:
            return field, ""
    fields = ", ".join(field.value for field in TableField)
    raise InvalidInputError(f"Invalid key name in filter: {column}. Use one of {fields}<key>")
