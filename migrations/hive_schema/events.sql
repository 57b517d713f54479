-- The notification log, marks of partitions, transactions, locks and compactions.
-- Hive's tables of transactions and locks have no catalog: they show the catalog `hive`.

CREATE FUNCTION hive.millis(moment timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT floor(extract(epoch FROM moment) * 1000)::bigint $$;

CREATE VIEW hive."NOTIFICATION_LOG" AS
SELECT event_id AS "NL_ID", event_id AS "EVENT_ID", event_time AS "EVENT_TIME", event_type AS "EVENT_TYPE",
       catalog AS "CAT_NAME", database AS "DB_NAME", table_name AS "TBL_NAME",
       replace(message, chr(1), repeated) AS "MESSAGE", 'json-0.2' AS "MESSAGE_FORMAT"
FROM notification_log;

CREATE VIEW hive."NOTIFICATION_SEQUENCE" AS
SELECT 1::bigint AS "NNI_ID", last_event_id + 1 AS "NEXT_EVENT_ID" FROM notification_sequence;

CREATE VIEW hive."PARTITION_EVENTS" AS
SELECT hive.name_id(e.table_id || '/' || e.event_type || '/' || e.partition_name) AS "PART_NAME_ID",
       d.catalog AS "CAT_NAME", d.name AS "DB_NAME", 0::bigint AS "EVENT_TIME", e.event_type AS "EVENT_TYPE",
       e.partition_name AS "PARTITION_NAME", t.name AS "TBL_NAME"
FROM partition_events e JOIN tables t ON t.id = e.table_id JOIN databases d ON d.id = t.database_id;

CREATE VIEW hive."TXNS" AS
SELECT id AS "TXN_ID", left(state, 1) AS "TXN_STATE", hive.millis(started_at) AS "TXN_STARTED",
       hive.millis(heartbeat_at) AS "TXN_LAST_HEARTBEAT", user_name AS "TXN_USER", host_name AS "TXN_HOST",
       agent AS "TXN_AGENT_INFO", NULL::text AS "TXN_META_INFO", heartbeat_count AS "TXN_HEARTBEAT_COUNT",
       type AS "TXN_TYPE"
FROM transactions WHERE state <> 'committed';

CREATE VIEW hive."TXN_COMPONENTS" AS
SELECT c.transaction_id AS "TC_TXNID", c.database AS "TC_DATABASE", c.table_name AS "TC_TABLE",
       nullif(c.partition_name, '') AS "TC_PARTITION",
       (ARRAY['s', 'i', 'u', 'd', 'x', 'n', 'c'])[c.operation] AS "TC_OPERATION_TYPE", w.write_id AS "TC_WRITEID"
FROM transaction_components c JOIN transactions t ON t.id = c.transaction_id
     LEFT JOIN write_ids w ON w.transaction_id = c.transaction_id AND w.catalog = c.catalog
          AND w.database = c.database AND w.table_name = c.table_name
WHERE t.state <> 'committed' AND c.catalog = 'hive';

CREATE VIEW hive."COMPLETED_TXN_COMPONENTS" AS
SELECT c.transaction_id AS "CTC_TXNID", c.database AS "CTC_DATABASE", c.table_name AS "CTC_TABLE",
       nullif(c.partition_name, '') AS "CTC_PARTITION", t.ended_at::timestamp AS "CTC_TIMESTAMP",
       w.write_id AS "CTC_WRITEID", CASE WHEN c.operation IN (3, 4) THEN 'Y' ELSE 'N' END AS "CTC_UPDATE_DELETE"
FROM transaction_components c JOIN transactions t ON t.id = c.transaction_id
     LEFT JOIN write_ids w ON w.transaction_id = c.transaction_id AND w.catalog = c.catalog
          AND w.database = c.database AND w.table_name = c.table_name
WHERE t.state = 'committed' AND c.catalog = 'hive';

CREATE VIEW hive."NEXT_TXN_ID" AS
SELECT last + 1 AS "NTXN_NEXT" FROM transaction_counter;

CREATE VIEW hive."HIVE_LOCKS" AS
SELECT l.id AS "HL_LOCK_EXT_ID", c.position::bigint AS "HL_LOCK_INT_ID", coalesce(l.transaction_id, 0) AS "HL_TXNID",
       c.database AS "HL_DB", c.table_name AS "HL_TABLE", c.partition_name AS "HL_PARTITION",
       CASE WHEN l.acquired_at IS NULL THEN 'w' ELSE 'a' END AS "HL_LOCK_STATE",
       (ARRAY['r', 'w', 'e', 'x'])[c.type] AS "HL_LOCK_TYPE", hive.millis(l.heartbeat_at) AS "HL_LAST_HEARTBEAT",
       hive.millis(l.acquired_at) AS "HL_ACQUIRED_AT", l.user_name AS "HL_USER", l.host_name AS "HL_HOST",
       l.heartbeat_count AS "HL_HEARTBEAT_COUNT", l.agent AS "HL_AGENT_INFO", l.blocked_by AS "HL_BLOCKEDBY_EXT_ID",
       l.blocked_by_position::bigint AS "HL_BLOCKEDBY_INT_ID"
FROM locks l JOIN lock_components c ON c.lock_id = l.id
WHERE c.catalog = 'hive';

CREATE VIEW hive."NEXT_LOCK_ID" AS
SELECT last_value + 1 AS "NL_NEXT" FROM locks_id_seq;

CREATE VIEW hive."TXN_TO_WRITE_ID" AS
SELECT transaction_id AS "T2W_TXNID", database AS "T2W_DATABASE", table_name AS "T2W_TABLE", write_id AS "T2W_WRITEID"
FROM write_ids WHERE catalog = 'hive';

CREATE VIEW hive."NEXT_WRITE_ID" AS
SELECT database AS "NWI_DATABASE", table_name AS "NWI_TABLE", last + 1 AS "NWI_NEXT"
FROM write_id_counters WHERE catalog = 'hive';

CREATE VIEW hive."MATERIALIZATION_REBUILD_LOCKS" AS
SELECT r.transaction_id AS "MRL_TXN_ID", d.name AS "MRL_DB_NAME", t.name AS "MRL_TBL_NAME",
       hive.millis(x.heartbeat_at) AS "MRL_LAST_HEARTBEAT"
FROM materialized_view_rebuilds r JOIN transactions x ON x.id = r.transaction_id JOIN tables t ON t.id = r.view_id
     JOIN databases d ON d.id = t.database_id
WHERE x.state = 'open' AND d.catalog = 'hive';

CREATE VIEW hive."COMPACTION_QUEUE" AS
SELECT id AS "CQ_ID", database AS "CQ_DATABASE", table_name AS "CQ_TABLE", partition_name AS "CQ_PARTITION",
       CASE state WHEN 'initiated' THEN 'i' WHEN 'working' THEN 'w' ELSE 'r' END AS "CQ_STATE",
       (ARRAY['i', 'a', 'r', 'c'])[type] AS "CQ_TYPE", properties AS "CQ_TBLPROPERTIES", worker AS "CQ_WORKER_ID",
       hive.millis(started_at) AS "CQ_START", run_as AS "CQ_RUN_AS", highest_write_id AS "CQ_HIGHEST_WRITE_ID",
       NULL::bytea AS "CQ_META_INFO", job AS "CQ_HADOOP_JOB_ID"
FROM compactions WHERE state IN ('initiated', 'working', 'ready for cleaning') AND catalog = 'hive';

CREATE VIEW hive."COMPLETED_COMPACTIONS" AS
SELECT id AS "CC_ID", database AS "CC_DATABASE", table_name AS "CC_TABLE", partition_name AS "CC_PARTITION",
       CASE state WHEN 'succeeded' THEN 's' WHEN 'failed' THEN 'f' ELSE 'a' END AS "CC_STATE",
       (ARRAY['i', 'a', 'r', 'c'])[type] AS "CC_TYPE", properties AS "CC_TBLPROPERTIES", worker AS "CC_WORKER_ID",
       hive.millis(started_at) AS "CC_START", hive.millis(ended_at) AS "CC_END", run_as AS "CC_RUN_AS",
       highest_write_id AS "CC_HIGHEST_WRITE_ID", NULL::bytea AS "CC_META_INFO", job AS "CC_HADOOP_JOB_ID"
FROM compactions WHERE state NOT IN ('initiated', 'working', 'ready for cleaning') AND catalog = 'hive';

CREATE VIEW hive."NEXT_COMPACTION_QUEUE_ID" AS
SELECT last_value + 1 AS "NCQ_NEXT" FROM compactions_id_seq;

CREATE VIEW hive."RUNTIME_STATS" AS
SELECT id AS "RS_ID", extract(epoch FROM created_at)::bigint AS "CREATE_TIME", weight::bigint AS "WEIGHT",
       payload AS "PAYLOAD"
FROM runtime_statistics;

CREATE VIEW hive."METASTORE_DB_PROPERTIES" AS
SELECT 'guid' AS "PROPERTY_KEY", value AS "PROPERTY_VALUE", NULL::text AS "DESCRIPTION"
FROM metastore_properties WHERE name = 'guid';

CREATE VIEW hive."VERSION" AS
SELECT 1::bigint AS "VER_ID", '3.1.0' AS "SCHEMA_VERSION", 'Read-only views of another metastore' AS "VERSION_COMMENT";
