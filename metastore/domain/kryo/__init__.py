"""Parser of Hive's serialized partition expressions. Only `services.partition_expressions` imports this package.

HiveServer2 sends filters on partitions as bytes: Java objects (a tree of ExprNodeDesc) that Kryo has serialized. They
are in get_partitions_by_expr, get_partitions_spec_by_expr and the drop_partitions_req of ALTER TABLE … DROP PARTITION.
Spark, Trino and other clients send filter texts instead (see `domain.filters`). Without this package, HiveServer2
could neither prune partitions by a filter nor drop partitions. docs/decisions/019-kryo-without-java.md has the reasons.

Start with `predicates.parse_serialized`. A call goes through these modules:

1. `input` decodes numbers and texts, in the formats of Kryo 3 (Hive 2.3, 3.1) and Kryo 5 (Hive 4).
2. `objects` reads the object tree. `layouts` lists the fields of Hive's classes; no other class is accepted, and no
   class is ever loaded or instantiated by its name.
3. `predicates` translates the tree to a predicate of `domain.expression`; `constants` converts Java's constants.
4. Parts that no predicate can express are evaluated for each combination of partition values: `by_values` finds
   the combinations that match, `evaluation` and `functions` compute Hive's functions, `values` converts types.

If Hive's result is not known for certain, a part becomes UNKNOWN: lookups return the partition, drops are rejected.
"""

from metastore.domain.kryo.input import UnreadableExpressionError
from metastore.domain.kryo.predicates import parse_serialized

__all__ = ["UnreadableExpressionError", "parse_serialized"]
