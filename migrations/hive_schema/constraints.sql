-- Constraints, without decoding each row: a foreign key's rules and the flags of all kinds are at known positions of the
-- encoded struct, and the position of a column is searched in an array of names.

CREATE OR REPLACE FUNCTION hive.constraint_flags(encoded bytea) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN octet_length(encoded) >= 12 AND get_byte(encoded, octet_length(encoded) - 12) = 2
             AND get_byte(encoded, octet_length(encoded) - 8) = 2 AND get_byte(encoded, octet_length(encoded) - 4) = 2
        THEN (4 * get_byte(encoded, octet_length(encoded) - 9) + 2 * get_byte(encoded, octet_length(encoded) - 5)
              + get_byte(encoded, octet_length(encoded) - 1))::smallint
    END
$$;
COMMENT ON FUNCTION hive.constraint_flags IS 'Enable, validate and rely as bits 4, 2 and 1: the last three fields of a stored constraint.';

CREATE OR REPLACE FUNCTION hive.rule_at(encoded bytea, at int, field int) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN get_byte(encoded, at - 3) = 8 AND get_byte(encoded, at - 1) = field
        THEN hive.int32_at(encoded, at)::smallint
        ELSE hive.thrift_field(encoded, field)::smallint
    END
$$;
COMMENT ON FUNCTION hive.rule_at IS 'A rule of a foreign key: field 8 or 9 of its struct, whose value is expected at this position.';

CREATE OR REPLACE FUNCTION hive.position_in(fields jsonb, name text) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT position::int FROM jsonb_array_elements(fields) WITH ORDINALITY AS f(field, position)
    WHERE field ->> 'name' = name LIMIT 1
$$;
COMMENT ON FUNCTION hive.position_in IS 'The position of a field in a list of columns, from 1; NULL if it is not in the list.';

CREATE OR REPLACE VIEW hive."KEY_CONSTRAINTS" AS
SELECT CASE WHEN child_column.position IS NOT NULL THEN child_list.id END AS "CHILD_CD_ID",
       CASE WHEN child.id IS NOT NULL
            THEN coalesce(child_column.position, hive.position_in(child.partition_keys, c.column_name), 0)::bigint - 1
       END AS "CHILD_INTEGER_IDX",
       child.id AS "CHILD_TBL_ID",
       CASE WHEN parent_column.position IS NOT NULL THEN parent_list.id END AS "PARENT_CD_ID",
       coalesce(parent_column.position, hive.position_in(parent.partition_keys, coalesce(c.parent_column_name, c.column_name)),
                0)::bigint - 1 AS "PARENT_INTEGER_IDX",
       parent.id AS "PARENT_TBL_ID", c.position::bigint AS "POSITION", c.name AS "CONSTRAINT_NAME",
       (strpos('pk fk uk nn dc cc', c.kind) / 3)::smallint AS "CONSTRAINT_TYPE",
       CASE WHEN c.kind = 'fk'  -- fields 3 and 6 are the names of the columns, 7 is the position
            THEN hive.rule_at(c.encoded, 24 + octet_length(c.parent_column_name) + octet_length(c.column_name), 8)
       END AS "UPDATE_RULE",
       CASE WHEN c.kind = 'fk'
            THEN hive.rule_at(c.encoded, 31 + octet_length(c.parent_column_name) + octet_length(c.column_name), 9)
       END AS "DELETE_RULE",
       hive.constraint_flags(c.encoded) AS "ENABLE_VALIDATE_RELY",
       CASE WHEN c.kind IN ('dc', 'cc') THEN hive.text_of(hive.thrift_field(c.encoded, 5)) END AS "DEFAULT_VALUE"
FROM table_constraints c
     JOIN tables parent ON parent.id = coalesce(c.parent_table_id, c.table_id)
     JOIN storage_descriptors parent_descriptor ON parent_descriptor.id = parent.descriptor_id
     JOIN column_lists parent_list ON parent_list.id = parent_descriptor.columns_id
     LEFT JOIN (tables child
                JOIN storage_descriptors child_descriptor ON child_descriptor.id = child.descriptor_id
                JOIN column_lists child_list ON child_list.id = child_descriptor.columns_id)
          ON child.id = c.table_id AND c.kind = 'fk'
     CROSS JOIN LATERAL (SELECT array_position(child_list.names, c.column_name COLLATE "C") AS position) child_column
     CROSS JOIN LATERAL (
         SELECT array_position(parent_list.names, coalesce(c.parent_column_name, c.column_name) COLLATE "C") AS position
     ) parent_column
WHERE parent.database_id IS NOT NULL AND (c.kind <> 'fk' OR child.database_id IS NOT NULL);

-- Outer joins: PostgreSQL leaves out the tables of formats and descriptors if a query asks for none of their columns.
CREATE OR REPLACE VIEW hive."SDS" AS
SELECT s.sd_id AS "SD_ID", f.input_format AS "INPUT_FORMAT", coalesce(f.compressed, false) AS "IS_COMPRESSED",
       s.location AS "LOCATION", coalesce(f.bucket_count, 0)::bigint AS "NUM_BUCKETS",
       f.output_format AS "OUTPUT_FORMAT", s.sd_id AS "SERDE_ID", d.columns_id AS "CD_ID",
       coalesce(f.stored_as_sub_directories, false) AS "IS_STOREDASSUBDIRECTORIES"
FROM hive.descriptors s JOIN tables t ON t.id = s.table_id
     LEFT JOIN storage_descriptors d ON d.id = s.descriptor_id
     LEFT JOIN storage_formats f ON f.id = d.format_id
WHERE t.database_id IS NOT NULL;
