"""Storage descriptors, shared by content: column lists, storage formats and skew specifications.

A table or partition refers to one descriptor. A hundred thousand partitions of one shape share one row of each.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Identity, Index, Integer, Table, Text, text

from metastore.storage.schema.base import Texts, digest_column, encoded_column, id_column, json_column, metadata
from metastore.storage.schema.words import COLUMN_WORDS

column_lists = Table(
    "column_lists",
    metadata,
    id_column(),
    digest_column(),
    json_column("columns"),  # [{"name", "type", "comment"}]
    encoded_column(),
    Column("names", Texts),  # of the columns, for the views of Hive's schema
    Index("column_lists_words_idx", text(COLUMN_WORDS), postgresql_using="gin"),
)

storage_formats = Table(
    "storage_formats",
    metadata,
    id_column(),
    digest_column(),
    Column("input_format", Text),
    Column("output_format", Text),
    Column("compressed", Boolean),
    Column("serde_name", Text),
    Column("serde_library", Text),
    json_column("serde_parameters"),
    json_column("parameters"),
    Column("bucket_count", Integer),
    Column("bucket_columns", Texts, nullable=False),
    json_column("sort_columns"),  # [{"column", "order"}]; order 1 is ascending, 0 descending
    Column("stored_as_sub_directories", Boolean),
    encoded_column(),
)

skew_specifications = Table(
    "skew_specifications",
    metadata,
    id_column(),
    digest_column(),
    Column("column_names", Texts, nullable=False),
    encoded_column(),
)

skew_values = Table(
    "skew_values",
    metadata,
    Column("skew_id", BigInteger, ForeignKey("skew_specifications.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("value", Texts, nullable=False),
    # The id of the value in the views of Hive's schema, above all ids of skewed locations.
    Column("id", BigInteger, Identity(always=True, start=2**52), nullable=False, unique=True),
)

storage_descriptors = Table(
    "storage_descriptors",
    metadata,
    id_column(),
    digest_column(),
    Column("columns_id", BigInteger, ForeignKey("column_lists.id"), nullable=False, index=True),
    Column("format_id", BigInteger, ForeignKey("storage_formats.id"), nullable=False, index=True),
    Column("skew_id", BigInteger, ForeignKey("skew_specifications.id"), nullable=False, index=True),
    encoded_column(),  # the encoded end of every table or partition with this descriptor
)
