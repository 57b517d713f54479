-- Statistics of columns, except those that an overwrite has made worthless (storage.schema.statistics.FORGOTTEN).
CREATE OR REPLACE VIEW hive.table_statistics AS
SELECT hive.name_id(s.table_id || '/' || s.column_name) AS "CS_ID", d.catalog AS "CAT_NAME", d.name AS "DB_NAME",
       t.name AS "TABLE_NAME", s.column_name AS "COLUMN_NAME", v.column_type AS "COLUMN_TYPE", s.table_id AS "TBL_ID",
       v.low AS "LONG_LOW_VALUE", v.high AS "LONG_HIGH_VALUE", v.double_low AS "DOUBLE_LOW_VALUE",
       v.double_high AS "DOUBLE_HIGH_VALUE", v.decimal_low AS "BIG_DECIMAL_LOW_VALUE",
       v.decimal_high AS "BIG_DECIMAL_HIGH_VALUE", v.nulls AS "NUM_NULLS", v.distincts AS "NUM_DISTINCTS",
       v.bit_vector AS "BIT_VECTOR", v.average_length AS "AVG_COL_LEN", v.maximum_length AS "MAX_COL_LEN",
       v.trues AS "NUM_TRUES", v.falses AS "NUM_FALSES", s.analyzed_at AS "LAST_ANALYZED", s.engine AS "ENGINE", v.histogram AS "HISTOGRAM"
FROM column_statistics s JOIN tables t ON t.id = s.table_id JOIN databases d ON d.id = t.database_id,
     hive.column_statistics_of(s.encoded) v
WHERE s.partition_id = 0 AND s.analyzed_at <> -1;

CREATE OR REPLACE VIEW hive.partition_statistics AS
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
     hive.column_statistics_of(s.encoded) v
WHERE s.analyzed_at <> -1;
