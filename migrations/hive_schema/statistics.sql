-- Column statistics. Hive 3.1 knows one engine and no histograms: its views leave the others out.

CREATE FUNCTION hive.column_statistics_of(encoded bytea, OUT column_type text, OUT low bigint, OUT high bigint,
    OUT double_low float8, OUT double_high float8, OUT decimal_low text, OUT decimal_high text, OUT nulls bigint,
    OUT distincts bigint, OUT bit_vector bytea, OUT histogram bytea, OUT average_length float8,
    OUT maximum_length bigint, OUT trues bigint, OUT falses bigint)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    decoded jsonb := hive.thrift_struct(encoded);
    kind text;
    s jsonb;
BEGIN
    column_type := hive.text_of(decoded -> '2');
    SELECT key, value INTO kind, s FROM jsonb_each(decoded -> '3');
    nulls := coalesce((s ->> '3')::bigint, 0);
    IF kind <> '1' AND kind <> '5' THEN
        distincts := (s ->> '4')::bigint;
    END IF;
    bit_vector := decode(s ->> CASE WHEN kind IN ('1', '5') THEN '4' ELSE '5' END, 'hex');
    IF kind NOT IN ('1', '4', '5') THEN
        histogram := decode(s ->> '6', 'hex');
    END IF;
    CASE kind
    WHEN '1' THEN
        trues := (s ->> '1')::bigint;
        falses := (s ->> '2')::bigint;
    WHEN '2' THEN
        low := (s ->> '1')::bigint;
        high := (s ->> '2')::bigint;
    WHEN '3' THEN
        double_low := (s ->> '1')::float8;
        double_high := (s ->> '2')::float8;
    WHEN '4', '5' THEN
        maximum_length := (s ->> '1')::bigint;
        average_length := (s ->> '2')::float8;
    WHEN '6' THEN
        decimal_low := hive.decimal_of(s -> '1');
        decimal_high := hive.decimal_of(s -> '2');
    WHEN '7', '8' THEN
        low := (s -> '1' ->> '1')::bigint;
        high := (s -> '2' ->> '1')::bigint;
    ELSE
        NULL;  -- a column without values
    END CASE;
END $$;

CREATE VIEW hive.table_statistics AS
SELECT hive.name_id(s.table_id || '/' || s.column_name) AS "CS_ID", d.catalog AS "CAT_NAME", d.name AS "DB_NAME",
       t.name AS "TABLE_NAME", s.column_name AS "COLUMN_NAME", v.column_type AS "COLUMN_TYPE", s.table_id AS "TBL_ID",
       v.low AS "LONG_LOW_VALUE", v.high AS "LONG_HIGH_VALUE", v.double_low AS "DOUBLE_LOW_VALUE",
       v.double_high AS "DOUBLE_HIGH_VALUE", v.decimal_low AS "BIG_DECIMAL_LOW_VALUE",
       v.decimal_high AS "BIG_DECIMAL_HIGH_VALUE", v.nulls AS "NUM_NULLS", v.distincts AS "NUM_DISTINCTS",
       v.bit_vector AS "BIT_VECTOR", v.average_length AS "AVG_COL_LEN", v.maximum_length AS "MAX_COL_LEN",
       v.trues AS "NUM_TRUES", v.falses AS "NUM_FALSES", s.analyzed_at AS "LAST_ANALYZED", s.engine AS "ENGINE", v.histogram AS "HISTOGRAM"
FROM column_statistics s JOIN tables t ON t.id = s.table_id JOIN databases d ON d.id = t.database_id,
     hive.column_statistics_of(s.encoded) v
WHERE s.partition_id = 0;

CREATE VIEW hive."TAB_COL_STATS" AS
SELECT "CS_ID", "CAT_NAME", "DB_NAME", "TABLE_NAME", "COLUMN_NAME", "COLUMN_TYPE", "TBL_ID", "LONG_LOW_VALUE",
       "LONG_HIGH_VALUE", "DOUBLE_LOW_VALUE", "DOUBLE_HIGH_VALUE", "BIG_DECIMAL_LOW_VALUE", "BIG_DECIMAL_HIGH_VALUE",
       "NUM_NULLS", "NUM_DISTINCTS", "BIT_VECTOR", "AVG_COL_LEN", "MAX_COL_LEN", "NUM_TRUES", "NUM_FALSES",
       "LAST_ANALYZED"
FROM hive.table_statistics WHERE "ENGINE" = 'hive';

CREATE VIEW hive.partition_statistics AS
SELECT hive.name_id(s.table_id || '/' || s.partition_id || '/' || s.column_name) AS "CS_ID", d.catalog AS "CAT_NAME",
       d.name AS "DB_NAME", t.name AS "TABLE_NAME", p.name AS "PARTITION_NAME", s.column_name AS "COLUMN_NAME",
       v.column_type AS "COLUMN_TYPE", p.id AS "PART_ID", v.low AS "LONG_LOW_VALUE", v.high AS "LONG_HIGH_VALUE",
       v.double_low AS "DOUBLE_LOW_VALUE", v.double_high AS "DOUBLE_HIGH_VALUE",
       v.decimal_low AS "BIG_DECIMAL_LOW_VALUE", v.decimal_high AS "BIG_DECIMAL_HIGH_VALUE", v.nulls AS "NUM_NULLS",
       v.distincts AS "NUM_DISTINCTS", v.bit_vector AS "BIT_VECTOR", v.average_length AS "AVG_COL_LEN",
       v.maximum_length AS "MAX_COL_LEN", v.trues AS "NUM_TRUES", v.falses AS "NUM_FALSES",
       s.analyzed_at AS "LAST_ANALYZED", s.engine AS "ENGINE", v.histogram AS "HISTOGRAM"
FROM partitions p JOIN column_statistics s ON s.table_id = p.table_id AND s.partition_id = p.id
     JOIN tables t ON t.id = p.table_id JOIN databases d ON d.id = t.database_id,
     hive.column_statistics_of(s.encoded) v;

CREATE VIEW hive."PART_COL_STATS" AS
SELECT "CS_ID", "CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME", "COLUMN_NAME", "COLUMN_TYPE", "PART_ID",
       "LONG_LOW_VALUE", "LONG_HIGH_VALUE", "DOUBLE_LOW_VALUE", "DOUBLE_HIGH_VALUE", "BIG_DECIMAL_LOW_VALUE",
       "BIG_DECIMAL_HIGH_VALUE", "NUM_NULLS", "NUM_DISTINCTS", "BIT_VECTOR", "AVG_COL_LEN", "MAX_COL_LEN",
       "NUM_TRUES", "NUM_FALSES", "LAST_ANALYZED"
FROM hive.partition_statistics WHERE "ENGINE" = 'hive';
