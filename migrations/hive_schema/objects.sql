-- Catalogs, databases, tables, partitions, their columns, formats and functions.
-- A dropped table that can be restored has no database: its rows are left out.

-- The storage descriptors of tables and partitions. A partition's descriptor has the partition's id; tables.hive_sd_id
-- is above all ids of partitions. Both are plain columns, so that PostgreSQL uses their indexes for joins.
CREATE VIEW hive.descriptors AS
SELECT hive_sd_id AS sd_id, id AS table_id, descriptor_id, location FROM tables
UNION ALL
SELECT id, table_id, descriptor_id, location FROM partitions;

-- Lists of skewed values: of a table's definition, and of a value with its own location.
CREATE VIEW hive.string_lists AS
SELECT id, value FROM skew_values
UNION ALL
SELECT id, value FROM skewed_locations;

CREATE VIEW hive."CTLGS" AS
SELECT CASE name WHEN 'hive' THEN 1 ELSE hive.name_id(name) END AS "CTLG_ID", name AS "NAME", description AS "DESC",
       location AS "LOCATION_URI"
FROM catalogs;

CREATE VIEW hive."DBS" AS
SELECT id AS "DB_ID", description AS "DESC", location AS "DB_LOCATION_URI", name AS "NAME", owner AS "OWNER_NAME",
       hive.principal_type(owner_type) AS "OWNER_TYPE", catalog AS "CTLG_NAME"
FROM databases;

CREATE VIEW hive."DATABASE_PARAMS" AS
SELECT d.id AS "DB_ID", p.key AS "PARAM_KEY", p.value AS "PARAM_VALUE"
FROM databases d, jsonb_each_text(d.parameters) p;

CREATE VIEW hive."TBLS" AS
SELECT id AS "TBL_ID", create_time::bigint AS "CREATE_TIME", database_id AS "DB_ID",
       last_access_time::bigint AS "LAST_ACCESS_TIME", owner AS "OWNER",
       hive.principal_type(coalesce(owner_type, 1)) AS "OWNER_TYPE",
       coalesce(hive.thrift_field(encoded, 6)::bigint, 0) AS "RETENTION", hive_sd_id AS "SD_ID", name AS "TBL_NAME",
       type AS "TBL_TYPE", view_expanded_text AS "VIEW_EXPANDED_TEXT", view_original_text AS "VIEW_ORIGINAL_TEXT",
       coalesce(rewrite_enabled, false) AS "IS_REWRITE_ENABLED"
FROM tables
WHERE database_id IS NOT NULL;

CREATE VIEW hive."TABLE_PARAMS" AS
SELECT t.id AS "TBL_ID", p.key AS "PARAM_KEY", p.value AS "PARAM_VALUE"
FROM tables t, jsonb_each_text(t.parameters) p
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."PARTITION_KEYS" AS
SELECT t.id AS "TBL_ID", k.comment AS "PKEY_COMMENT", k.name AS "PKEY_NAME", k.type AS "PKEY_TYPE",
       k.position - 1 AS "INTEGER_IDX"
FROM tables t, ROWS FROM (jsonb_to_recordset(t.partition_keys) AS (name text, type text, comment text))
     WITH ORDINALITY AS k(name, type, comment, position)
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."PARTITIONS" AS
SELECT p.id AS "PART_ID", p.create_time::bigint AS "CREATE_TIME", p.last_access_time::bigint AS "LAST_ACCESS_TIME",
       p.name AS "PART_NAME", p.id AS "SD_ID", p.table_id AS "TBL_ID"
FROM partitions p JOIN tables t ON t.id = p.table_id
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."PARTITION_KEY_VALS" AS
SELECT p.id AS "PART_ID", v.value AS "PART_KEY_VAL", v.position - 1 AS "INTEGER_IDX"
FROM partitions p JOIN tables t ON t.id = p.table_id,
     unnest(p.values) WITH ORDINALITY AS v(value, position)
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."PARTITION_PARAMS" AS
SELECT p.id AS "PART_ID", e.key AS "PARAM_KEY", e.value AS "PARAM_VALUE"
FROM partitions p JOIN tables t ON t.id = p.table_id, jsonb_each_text(p.parameters) e
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."SDS" AS
SELECT s.sd_id AS "SD_ID", f.input_format AS "INPUT_FORMAT", coalesce(f.compressed, false) AS "IS_COMPRESSED",
       s.location AS "LOCATION", coalesce(f.bucket_count, 0)::bigint AS "NUM_BUCKETS",
       f.output_format AS "OUTPUT_FORMAT", d.format_id AS "SERDE_ID", d.columns_id AS "CD_ID",
       coalesce(f.stored_as_sub_directories, false) AS "IS_STOREDASSUBDIRECTORIES"
FROM hive.descriptors s JOIN tables t ON t.id = s.table_id
     JOIN storage_descriptors d ON d.id = s.descriptor_id
     JOIN storage_formats f ON f.id = d.format_id
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."SD_PARAMS" AS
SELECT s.sd_id AS "SD_ID", p.key AS "PARAM_KEY", p.value AS "PARAM_VALUE"
FROM hive.descriptors s JOIN tables t ON t.id = s.table_id
     JOIN storage_descriptors d ON d.id = s.descriptor_id
     JOIN storage_formats f ON f.id = d.format_id, jsonb_each_text(f.parameters) p
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."CDS" AS
SELECT id AS "CD_ID" FROM column_lists;

CREATE VIEW hive."COLUMNS_V2" AS
SELECT l.id AS "CD_ID", c.comment AS "COMMENT", c.name AS "COLUMN_NAME", c.type AS "TYPE_NAME",
       (c.position - 1)::int AS "INTEGER_IDX"
FROM column_lists l, ROWS FROM (jsonb_to_recordset(l.columns) AS (name text, type text, comment text))
     WITH ORDINALITY AS c(name, type, comment, position);

CREATE VIEW hive."SERDES" AS
SELECT id AS "SERDE_ID", serde_name AS "NAME", serde_library AS "SLIB",
       hive.text_of(serde -> '4') AS "DESCRIPTION", hive.text_of(serde -> '5') AS "SERIALIZER_CLASS",
       hive.text_of(serde -> '6') AS "DESERIALIZER_CLASS", (serde ->> '7')::int AS "SERDE_TYPE"
FROM (SELECT *, hive.thrift_field(encoded, 7) AS serde FROM storage_formats) f;

CREATE VIEW hive."SERDE_PARAMS" AS
SELECT f.id AS "SERDE_ID", p.key AS "PARAM_KEY", p.value AS "PARAM_VALUE"
FROM storage_formats f, jsonb_each_text(f.serde_parameters) p;

CREATE VIEW hive."BUCKETING_COLS" AS
SELECT s.sd_id AS "SD_ID", c.name AS "BUCKET_COL_NAME", c.position - 1 AS "INTEGER_IDX"
FROM hive.descriptors s JOIN tables t ON t.id = s.table_id
     JOIN storage_descriptors d ON d.id = s.descriptor_id
     JOIN storage_formats f ON f.id = d.format_id,
     unnest(f.bucket_columns) WITH ORDINALITY AS c(name, position)
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."SORT_COLS" AS
SELECT s.sd_id AS "SD_ID", c.name AS "COLUMN_NAME", c.direction::bigint AS "ORDER", c.position - 1 AS "INTEGER_IDX"
FROM hive.descriptors s JOIN tables t ON t.id = s.table_id
     JOIN storage_descriptors d ON d.id = s.descriptor_id
     JOIN storage_formats f ON f.id = d.format_id,
     ROWS FROM (jsonb_to_recordset(f.sort_columns) AS ("column" text, "order" int))
     WITH ORDINALITY AS c(name, direction, position)
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."SKEWED_COL_NAMES" AS
SELECT s.sd_id AS "SD_ID", c.name AS "SKEWED_COL_NAME", c.position - 1 AS "INTEGER_IDX"
FROM hive.descriptors s JOIN tables t ON t.id = s.table_id
     JOIN storage_descriptors d ON d.id = s.descriptor_id
     JOIN skew_specifications k ON k.id = d.skew_id,
     unnest(k.column_names) WITH ORDINALITY AS c(name, position)
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."SKEWED_VALUES" AS
SELECT s.sd_id AS "SD_ID_OID", v.id AS "STRING_LIST_ID_EID", v.position::bigint AS "INTEGER_IDX"
FROM hive.descriptors s JOIN tables t ON t.id = s.table_id
     JOIN storage_descriptors d ON d.id = s.descriptor_id
     JOIN skew_values v ON v.skew_id = d.skew_id
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."SKEWED_COL_VALUE_LOC_MAP" AS
SELECT t.hive_sd_id AS "SD_ID", l.id AS "STRING_LIST_ID_KID", l.location AS "LOCATION"
FROM skewed_locations l JOIN tables t ON t.id = l.table_id
WHERE l.partition_id IS NULL AND t.database_id IS NOT NULL
UNION ALL
SELECT l.partition_id, l.id, l.location
FROM skewed_locations l JOIN tables t ON t.id = l.table_id
WHERE l.partition_id IS NOT NULL AND t.database_id IS NOT NULL;

CREATE VIEW hive."SKEWED_STRING_LIST" AS
SELECT id AS "STRING_LIST_ID" FROM hive.string_lists;

CREATE VIEW hive."SKEWED_STRING_LIST_VALUES" AS
SELECT l.id AS "STRING_LIST_ID", v.value AS "STRING_LIST_VALUE", v.position - 1 AS "INTEGER_IDX"
FROM hive.string_lists l, unnest(l.value) WITH ORDINALITY AS v(value, position);

CREATE VIEW hive."FUNCS" AS
SELECT id AS "FUNC_ID", hive.text_of(f -> '3') AS "CLASS_NAME", coalesce((f ->> '6')::int, 0) AS "CREATE_TIME",
       database_id AS "DB_ID", name AS "FUNC_NAME", coalesce((f ->> '7')::int, 1) AS "FUNC_TYPE",
       hive.text_of(f -> '4') AS "OWNER_NAME", hive.principal_type((f ->> '5')::int) AS "OWNER_TYPE"
FROM (SELECT id, database_id, name, hive.thrift_struct(encoded) AS f FROM functions) decoded;

CREATE VIEW hive."FUNC_RU" AS
SELECT f.id AS "FUNC_ID", (r.resource ->> '1')::int AS "RESOURCE_TYPE", hive.text_of(r.resource -> '2') AS "RESOURCE_URI",
       (r.position - 1)::int AS "INTEGER_IDX"
FROM functions f,
     jsonb_array_elements(hive.thrift_field(f.encoded, 8)) WITH ORDINALITY AS r(resource, position);

CREATE VIEW hive."TYPES" AS
SELECT hive.name_id(name) AS "TYPES_ID", name AS "TYPE_NAME", hive.text_of(t -> '2') AS "TYPE1",
       hive.text_of(t -> '3') AS "TYPE2"
FROM (SELECT name, hive.thrift_struct(encoded) AS t FROM types) decoded;

CREATE VIEW hive."TYPE_FIELDS" AS
SELECT hive.name_id(t.name) AS "TYPE_NAME", hive.text_of(f.field -> '3') AS "COMMENT",
       hive.text_of(f.field -> '1') AS "FIELD_NAME", hive.text_of(f.field -> '2') AS "FIELD_TYPE",
       f.position - 1 AS "INTEGER_IDX"
FROM types t, jsonb_array_elements(hive.thrift_field(t.encoded, 4)) WITH ORDINALITY AS f(field, position);

CREATE VIEW hive."IDXS" AS
SELECT i.id AS "INDEX_ID", coalesce((f ->> '5')::bigint, 0) AS "CREATE_TIME",
       coalesce((f ->> '10')::boolean, false) AS "DEFERRED_REBUILD", hive.text_of(f -> '2') AS "INDEX_HANDLER_CLASS",
       i.name AS "INDEX_NAME", i.index_table_id AS "INDEX_TBL_ID", coalesce((f ->> '6')::bigint, 0) AS "LAST_ACCESS_TIME",
       i.table_id AS "ORIG_TBL_ID", held.hive_sd_id AS "SD_ID"
FROM (SELECT *, hive.thrift_struct(encoded) AS f FROM table_indexes) i
     JOIN tables t ON t.id = i.table_id JOIN tables held ON held.id = i.index_table_id
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."INDEX_PARAMS" AS
SELECT i.id AS "INDEX_ID", hive.text_of(p.parameters -> (2 * n)) AS "PARAM_KEY",
       hive.text_of(p.parameters -> (2 * n + 1)) AS "PARAM_VALUE"
FROM table_indexes i JOIN tables t ON t.id = i.table_id,
     LATERAL (SELECT hive.thrift_field(i.encoded, 9) AS parameters) p,
     LATERAL generate_series(0, jsonb_array_length(p.parameters) / 2 - 1) n
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."MV_CREATION_METADATA" AS
SELECT t.id AS "MV_CREATION_METADATA_ID", d.catalog AS "CAT_NAME", d.name AS "DB_NAME", t.name AS "TBL_NAME",
       hive.text_of(m.metadata -> '5') AS "TXN_LIST", coalesce((m.metadata ->> '6')::bigint, 0) AS "MATERIALIZATION_TIME"
FROM tables t JOIN databases d ON d.id = t.database_id,
     LATERAL (SELECT hive.thrift_field(t.encoded, 16) AS metadata) m
WHERE t.type = 'MATERIALIZED_VIEW' AND m.metadata IS NOT NULL;

CREATE VIEW hive."MV_TABLES_USED" AS
SELECT s.view_id AS "MV_CREATION_METADATA_ID", s.source_id AS "TBL_ID"
FROM materialized_view_sources s JOIN tables t ON t.id = s.view_id
WHERE t.database_id IS NOT NULL;

CREATE VIEW hive."KEY_CONSTRAINTS" AS
SELECT CASE WHEN c.kind = 'fk' AND own_column.position IS NOT NULL THEN own.columns_id END AS "CHILD_CD_ID",
       CASE WHEN c.kind = 'fk' THEN coalesce(own_column.position, own_key.position, 0) - 1 END AS "CHILD_INTEGER_IDX",
       CASE WHEN c.kind = 'fk' THEN c.table_id END AS "CHILD_TBL_ID",
       CASE WHEN parent_column.position IS NOT NULL THEN parent.columns_id END AS "PARENT_CD_ID",
       coalesce(parent_column.position, parent_key.position, 0) - 1 AS "PARENT_INTEGER_IDX",
       parent.table_id AS "PARENT_TBL_ID", c.position::bigint AS "POSITION", c.name AS "CONSTRAINT_NAME",
       (array_position(ARRAY['pk', 'fk', 'uk', 'nn', 'dc', 'cc'], c.kind) - 1)::smallint AS "CONSTRAINT_TYPE",
       CASE WHEN c.kind = 'fk' THEN (c.f ->> '8')::smallint END AS "UPDATE_RULE",
       CASE WHEN c.kind = 'fk' THEN (c.f ->> '9')::smallint END AS "DELETE_RULE",
       (4 * (c.f ->> c.flags)::boolean::int + 2 * (c.f ->> (c.flags::int + 1)::text)::boolean::int
        + (c.f ->> (c.flags::int + 2)::text)::boolean::int)::smallint AS "ENABLE_VALIDATE_RELY",
       CASE WHEN c.kind IN ('dc', 'cc') THEN hive.text_of(c.f -> '5') END AS "DEFAULT_VALUE"
FROM (SELECT *, hive.thrift_struct(encoded) AS f,
             CASE kind WHEN 'pk' THEN '6' WHEN 'nn' THEN '6' WHEN 'fk' THEN '12' ELSE '7' END AS flags
      FROM table_constraints) c
     JOIN (SELECT t.id AS table_id, t.database_id, t.partition_keys, l.id AS columns_id, l.columns
           FROM tables t JOIN storage_descriptors d ON d.id = t.descriptor_id JOIN column_lists l ON l.id = d.columns_id
          ) own ON own.table_id = c.table_id
     JOIN (SELECT t.id AS table_id, t.database_id, t.partition_keys, l.id AS columns_id, l.columns
           FROM tables t JOIN storage_descriptors d ON d.id = t.descriptor_id JOIN column_lists l ON l.id = d.columns_id
          ) parent ON parent.table_id = coalesce(c.parent_table_id, c.table_id)
     LEFT JOIN LATERAL jsonb_array_elements(own.columns) WITH ORDINALITY AS own_column(field, position)
          ON own_column.field ->> 'name' = c.column_name
     LEFT JOIN LATERAL jsonb_array_elements(own.partition_keys) WITH ORDINALITY AS own_key(field, position)
          ON own_key.field ->> 'name' = c.column_name
     LEFT JOIN LATERAL jsonb_array_elements(parent.columns) WITH ORDINALITY AS parent_column(field, position)
          ON parent_column.field ->> 'name' = coalesce(c.parent_column_name, c.column_name)
     LEFT JOIN LATERAL jsonb_array_elements(parent.partition_keys) WITH ORDINALITY AS parent_key(field, position)
          ON parent_key.field ->> 'name' = coalesce(c.parent_column_name, c.column_name)
WHERE own.database_id IS NOT NULL AND parent.database_id IS NOT NULL;
