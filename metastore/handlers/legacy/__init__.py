"""Methods that no engine needs today. Only `app.handlers` and the registry of handlers import this package.

Hive's own test suites call all of them, and a gateway such as Waggle Dance relays them. Apart from those:

- `types`: no known client.
- `indexes`: Hive before 3.0, for CREATE INDEX, ALTER INDEX and DROP INDEX.
- `partition_events`: programs that wait for data by `markPartitionForEvent` and `isPartitionMarkedForEvent`.
- `runtime_statistics`: HiveServer2 since 3.0, only if `hive.query.reexecution.stats.persist.scope` is `metastore`.

`services.legacy` has their rules. A table with an index is created and dropped as any other table, so those checks
are in `services.rules.indexes`.
"""
