"""Parser of Hive's filter language, for get_partitions_by_filter and get_table_names_by_filter."""

from metastore.domain.filters.lexer import is_word
from metastore.domain.filters.parser import check_columns, parse_filter
from metastore.domain.filters.table_fields import TableField, table_field

__all__ = ["TableField", "check_columns", "is_word", "parse_filter", "table_field"]
