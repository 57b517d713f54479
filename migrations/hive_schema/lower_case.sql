-- Each view again with its names in lower case, for queries that do not quote them. PostgreSQL folds such names to lower
-- case, and Hive's own script creates its tables of transactions so.
DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        SELECT format('CREATE VIEW hive.%I AS SELECT %s FROM hive.%I', lower(relname),
                      string_agg(format('%I AS %I', attname, lower(attname)), ', ' ORDER BY attnum), relname)
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE relnamespace = 'hive'::regnamespace AND relkind = 'v' AND relname <> lower(relname)
        GROUP BY relname ORDER BY relname
    LOOP
        EXECUTE statement;
    END LOOP;
END $$;
