-- Roles and privileges. Rights on a catalog or a location, which Hive does not have, are left out.

CREATE VIEW hive."ROLES" AS
SELECT hive.name_id(name) AS "ROLE_ID", create_time::bigint AS "CREATE_TIME", owner AS "OWNER_NAME", name AS "ROLE_NAME"
FROM roles;

CREATE VIEW hive."ROLE_MAP" AS
SELECT hive.name_id(role || '/' || principal_type || '/' || principal) AS "ROLE_GRANT_ID", grant_time::bigint AS "ADD_TIME",
       grant_option::int::smallint AS "GRANT_OPTION", grantor AS "GRANTOR",
       hive.principal_type(grantor_type) AS "GRANTOR_TYPE", principal AS "PRINCIPAL_NAME",
       hive.principal_type(principal_type) AS "PRINCIPAL_TYPE", hive.name_id(role) AS "ROLE_ID"
FROM role_grants;

CREATE VIEW hive."GLOBAL_PRIVS" AS
SELECT id AS "USER_GRANT_ID", create_time::bigint AS "CREATE_TIME", grant_option::int::smallint AS "GRANT_OPTION",
       grantor AS "GRANTOR", hive.principal_type(grantor_type) AS "GRANTOR_TYPE", principal AS "PRINCIPAL_NAME",
       hive.principal_type(principal_type) AS "PRINCIPAL_TYPE", privilege AS "USER_PRIV", authorizer AS "AUTHORIZER"
FROM privileges WHERE object_type = 1 AND scope IS NULL;

CREATE VIEW hive."DB_PRIVS" AS
SELECT id AS "DB_GRANT_ID", create_time::bigint AS "CREATE_TIME", database_id AS "DB_ID",
       grant_option::int::smallint AS "GRANT_OPTION", grantor AS "GRANTOR",
       hive.principal_type(grantor_type) AS "GRANTOR_TYPE", principal AS "PRINCIPAL_NAME",
       hive.principal_type(principal_type) AS "PRINCIPAL_TYPE", privilege AS "DB_PRIV", authorizer AS "AUTHORIZER"
FROM privileges WHERE object_type = 2;

CREATE VIEW hive."TBL_PRIVS" AS
SELECT p.id AS "TBL_GRANT_ID", p.create_time::bigint AS "CREATE_TIME", p.grant_option::int::smallint AS "GRANT_OPTION",
       p.grantor AS "GRANTOR", hive.principal_type(p.grantor_type) AS "GRANTOR_TYPE", p.principal AS "PRINCIPAL_NAME",
       hive.principal_type(p.principal_type) AS "PRINCIPAL_TYPE", p.privilege AS "TBL_PRIV", p.table_id AS "TBL_ID",
       p.authorizer AS "AUTHORIZER"
FROM privileges p JOIN tables t ON t.id = p.table_id
WHERE p.object_type = 3 AND t.database_id IS NOT NULL;

CREATE VIEW hive."PART_PRIVS" AS
SELECT p.id AS "PART_GRANT_ID", p.create_time::bigint AS "CREATE_TIME", p.grant_option::int::smallint AS "GRANT_OPTION",
       p.grantor AS "GRANTOR", hive.principal_type(p.grantor_type) AS "GRANTOR_TYPE", p.partition_id AS "PART_ID",
       p.principal AS "PRINCIPAL_NAME", hive.principal_type(p.principal_type) AS "PRINCIPAL_TYPE",
       p.privilege AS "PART_PRIV", p.authorizer AS "AUTHORIZER"
FROM privileges p JOIN tables t ON t.id = p.table_id
WHERE p.object_type = 4 AND t.database_id IS NOT NULL;

CREATE VIEW hive."TBL_COL_PRIVS" AS
SELECT p.id AS "TBL_COLUMN_GRANT_ID", p.column_name AS "COLUMN_NAME", p.create_time::bigint AS "CREATE_TIME",
       p.grant_option::int::smallint AS "GRANT_OPTION", p.grantor AS "GRANTOR",
       hive.principal_type(p.grantor_type) AS "GRANTOR_TYPE", p.principal AS "PRINCIPAL_NAME",
       hive.principal_type(p.principal_type) AS "PRINCIPAL_TYPE", p.privilege AS "TBL_COL_PRIV", p.table_id AS "TBL_ID",
       p.authorizer AS "AUTHORIZER"
FROM privileges p JOIN tables t ON t.id = p.table_id
WHERE p.object_type = 5 AND p.partition_id IS NULL AND t.database_id IS NOT NULL;

CREATE VIEW hive."PART_COL_PRIVS" AS
SELECT p.id AS "PART_COLUMN_GRANT_ID", p.column_name AS "COLUMN_NAME", p.create_time::bigint AS "CREATE_TIME",
       p.grant_option::int::smallint AS "GRANT_OPTION", p.grantor AS "GRANTOR",
       hive.principal_type(p.grantor_type) AS "GRANTOR_TYPE", p.partition_id AS "PART_ID",
       p.principal AS "PRINCIPAL_NAME", hive.principal_type(p.principal_type) AS "PRINCIPAL_TYPE",
       p.privilege AS "PART_COL_PRIV", p.authorizer AS "AUTHORIZER"
FROM privileges p JOIN tables t ON t.id = p.table_id
WHERE p.object_type = 5 AND p.partition_id IS NOT NULL AND t.database_id IS NOT NULL;
