-- Constraints with the places of their columns, which a trigger stores, and views that PostgreSQL joins and filters fast.

CREATE TRIGGER table_constraints_places BEFORE INSERT OR UPDATE ON table_constraints FOR EACH ROW
    EXECUTE FUNCTION hive.place_constraint();
CREATE TRIGGER tables_constraint_places AFTER UPDATE ON tables FOR EACH ROW
    WHEN (old.descriptor_id <> new.descriptor_id OR old.partition_keys <> new.partition_keys)
    EXECUTE FUNCTION hive.place_constraints_again();

-- Few tables are dropped and not yet removed: an index has their ids. A join with all tables, to leave those out, would read each row.
CREATE OR REPLACE VIEW hive."KEY_CONSTRAINTS" AS
SELECT columns_id AS "CHILD_CD_ID", column_index::bigint AS "CHILD_INTEGER_IDX", child_table_id AS "CHILD_TBL_ID",
       parent_columns_id AS "PARENT_CD_ID", parent_column_index::bigint AS "PARENT_INTEGER_IDX",
       coalesce(parent_table_id, table_id) AS "PARENT_TBL_ID", position::bigint AS "POSITION", name AS "CONSTRAINT_NAME",
       (strpos('pk fk uk nn dc cc', kind) / 3)::smallint AS "CONSTRAINT_TYPE", update_rule AS "UPDATE_RULE",
       delete_rule AS "DELETE_RULE", flags AS "ENABLE_VALIDATE_RELY",
       CASE WHEN kind IN ('dc', 'cc') THEN hive.text_of(hive.thrift_field(encoded, 5)) END AS "DEFAULT_VALUE"
FROM table_constraints c
WHERE NOT EXISTS (SELECT FROM tables t WHERE t.id = c.table_id AND t.database_id IS NULL)
      AND NOT EXISTS (SELECT FROM tables t WHERE t.id = c.parent_table_id AND t.database_id IS NULL);

CREATE OR REPLACE VIEW hive."SDS" AS
SELECT s.sd_id AS "SD_ID", f.input_format AS "INPUT_FORMAT", coalesce(f.compressed, false) AS "IS_COMPRESSED",
       s.location AS "LOCATION", coalesce(f.bucket_count, 0)::bigint AS "NUM_BUCKETS",
       f.output_format AS "OUTPUT_FORMAT", s.sd_id AS "SERDE_ID", d.columns_id AS "CD_ID",
       coalesce(f.stored_as_sub_directories, false) AS "IS_STOREDASSUBDIRECTORIES"
FROM hive.descriptors s
     LEFT JOIN storage_descriptors d ON d.id = s.descriptor_id
     LEFT JOIN storage_formats f ON f.id = d.format_id
WHERE NOT EXISTS (SELECT FROM tables t WHERE t.id = s.table_id AND t.database_id IS NULL);

-- `#> '{}'` decompresses a large value once, and OFFSET 0 keeps it apart: `->` of each column or key would do so again.
CREATE OR REPLACE VIEW hive."COLUMNS_V2" AS
SELECT l.id AS "CD_ID", d.columns -> (c.position - 1)::int ->> 'comment' AS "COMMENT", c.name AS "COLUMN_NAME",
       d.columns -> (c.position - 1)::int ->> 'type' AS "TYPE_NAME", (c.position - 1)::int AS "INTEGER_IDX"
FROM column_lists l, LATERAL (SELECT l.columns #> '{}' AS columns OFFSET 0) d,
     unnest(l.names) WITH ORDINALITY AS c(name, position);

CREATE OR REPLACE VIEW hive."TABLE_PARAMS" AS
SELECT t.id AS "TBL_ID", p.key AS "PARAM_KEY", d.parameters ->> p.key AS "PARAM_VALUE"
FROM tables t, LATERAL (SELECT t.parameters #> '{}' AS parameters OFFSET 0) d,
     LATERAL (SELECT jsonb_object_keys(t.parameters) AS key) p
WHERE t.database_id IS NOT NULL;
