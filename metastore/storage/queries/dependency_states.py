"""The states of dependent partitions, as common table expressions."""

from __future__ import annotations

from typing import Final

from metastore.domain.dependencies import FRESH, INCOMPLETE, STALE

# The base partitions of the dependency `{0}`, which has base_id, keys and values. Sort keys are equal exactly if the
# values are equal in their type. Where a key is NULL (default partition, or a type without order) texts are compared.
# The first branch uses the index on keys[1], the second one handles a NULL there.
_MATCHING: Final = """(
    SELECT p.id, p.version, p.name, p.table_id FROM partitions AS p
    WHERE p.table_id = {0}.base_id AND p.keys[1] = {0}.keys[1] AND p.keys[1:cardinality({0}.keys)] = {0}.keys
      AND (array_position({0}.keys, NULL) IS NULL OR p."values"[1:cardinality({0}.keys)] = {0}."values")
    UNION ALL
    SELECT p.id, p.version, p.name, p.table_id FROM partitions AS p
    WHERE p.table_id = {0}.base_id AND {0}.keys[1] IS NULL AND p.keys[1] IS NULL
      AND p."values"[1:cardinality({0}.keys)] = {0}."values"
)"""

# Evaluates each distinct specification once, with all base partitions below it. If a base is a dependent table itself,
# its base partitions are included recursively. The digest contains ids, so that a partition that was dropped and
# created again counts as changed.
EVALUATED: Final = f"""
    numbered AS (
        SELECT d.*, dense_rank() OVER (ORDER BY d.base_id, d.keys, d."values") AS spec
        FROM partition_dependencies AS d JOIN chosen ON chosen.partition_id = d.partition_id
    ),
    wanted AS (SELECT DISTINCT ON (spec) spec, base_id, keys, "values" FROM numbered),
    reached AS (
        SELECT w.spec, w.base_id, b.id, b.version, b.name, b.table_id
        FROM wanted AS w CROSS JOIN LATERAL {_MATCHING.format("w")} AS b
        UNION
        SELECT r.spec, r.base_id, b.id, b.version, b.name, b.table_id
        FROM reached AS r CROSS JOIN LATERAL (
            SELECT base_id, keys, "values" FROM partition_dependencies WHERE partition_id = r.id OFFSET 0
        ) AS d
        CROSS JOIN LATERAL {_MATCHING.format("d")} AS b
    ),
    evaluated AS (
        SELECT w.spec, count(r.id) FILTER (WHERE r.table_id = w.base_id) AS total,
               sha256(convert_to(coalesce(string_agg(r.id || ':' || r.version, ',' ORDER BY r.id), ''), 'UTF8'))
                   AS digest,
               {{columns}}
        FROM wanted AS w LEFT JOIN reached AS r ON r.spec = w.spec
        GROUP BY w.spec
    )
"""  # noqa: S608 - only constants of this module


def state(dependency: str) -> str:
    """Returns the rule of `domain.dependencies.state_of` in SQL.

    `dependency`: the alias of the row of `numbered`; `e` is the alias of `evaluated`.
    """
    unchanged = f"e.digest = {dependency}.digest"
    return f"CASE WHEN e.total = 0 THEN '{INCOMPLETE}' WHEN {unchanged} THEN '{FRESH}' ELSE '{STALE}' END"
