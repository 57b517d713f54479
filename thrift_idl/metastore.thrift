/*
 * Extensions of the Hive Metastore service, on the same port and connection.
 * The PySpark client plans scans and publishes writes with them. Other clients are not affected.
 */

include "hive_metastore.thrift"

namespace py thrift_idl.gen.metastore

// ---- Predicates

/** Operators of predicate nodes. Comparisons are "column OP value". */
enum PredicateOperator {
  UNKNOWN = 0,               // cannot be evaluated: may be true, false or null
  TRUE = 1,
  FALSE = 2,
  NULL = 3,
  AND = 4,                   // its operands are the last `operands` nodes
  OR = 5,                    // its operands are the last `operands` nodes
  NOT = 6,                   // its operand is the last node
  EQUAL = 7,
  LESS = 8,
  LESS_OR_EQUAL = 9,
  GREATER = 10,
  GREATER_OR_EQUAL = 11,
  IN = 12,                   // any of `values`
  IS_NULL = 13,
  NULL_SAFE_EQUAL = 14,      // <=> with a non-null value
  STARTS_WITH = 15,
  TEXT_IN = 16,              // the stored text of a partition column of any type is one of `values`; never null
}

/**
 * A node of a predicate in postfix order (operands first). So deep nesting cannot exhaust the stack of a decoder.
 * `values` are texts as in Hive's partition values: 5, 2024-01-31, 1.50, true, abc. They are never null.
 */
struct PredicateNode {
  1: required PredicateOperator op,
  2: optional string column,
  3: optional list<string> values,
  4: optional i32 operands,
}

// ---- Scans

struct ScanRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional list<PredicateNode> predicate,   // unset: everything
  4: optional string catName,
  // 5 is retired (totals)
  6: optional string state,                    // ScanValues.state; if it has changed, the call throws ConflictException
  7: optional bool unrecorded,                 // no query reads the rows: a check, or a write that lists partitions
  8: optional bool paged,                      // the client reads ScanPlan.pages
}

/** Requests the values of partition columns in the partitions that a scan reads. */
struct ScanValuesRequest {
  1: required ScanRequest scan,
  2: required list<string> columns,            // partition columns
}

/**
 * The texts of these columns, row by row. Rows may repeat. They are complete as long as the table's list of partitions
 * has this state; every change of the list changes the state.
 */
struct ScanValues {
  1: required list<string> texts,
  2: required string state,
}

/** A directory that a scan has to read. */
struct ScanDirectory {
  1: required string location,
}

/**
 * The part of a partition that a scan has to read. An unpartitioned table has one entry without values.
 * If the partition has skew directories, `location` is not in `directories`. The scan must also read the files directly in
 * `location`, except ScanStorage.prunedFiles: the flat layout and writers without support for skew put files there.
 */
struct ScanPartition {
  1: required list<string> values,
  2: required list<ScanDirectory> directories,
  3: required i64 version,
  4: optional i32 storageIndex,                // index into ScanPlan.storages
  6: required string location,
  7: optional bool unplaced,                   // skewed, but no directory of a skewed value is registered: they may be below location
}

/** A storage descriptor. Many partitions share one. */
struct ScanStorage {
  1: required list<hive_metastore.FieldSchema> columns,
  2: required string inputFormat,
  3: required string serializationLib,
  4: required map<string, string> serdeParameters,
  5: required i32 numBuckets,
  6: required list<string> bucketCols,
  7: optional list<string> prunedFiles,        // name prefixes of files in a partition's location that have no matching row
  8: optional bool skewed,                     // has skewed columns; unset by servers that do not tell
}

/** CLUSTERED BY `columns` INTO `count` BUCKETS of a table, and its parameter bucketing_version. */
struct ScanBuckets {
  1: required list<hive_metastore.FieldSchema> columns,
  2: required i32 count,
  3: optional string bucketingVersion,
}

/** Consecutive partitions of a plan. */
struct ScanPage {
  1: required list<ScanPartition> partitions,
}

/** A page in Thrift's binary protocol, compressed (zlib, RFC 1950), so that a client can read a large plan by pages. */
struct PackedScanPage {
  1: required i32 count,                       // of partitions, at least 1
  2: required binary page,                     // a ScanPage
}

struct ScanPlan {
  1: required list<ScanPartition> partitions,  // ascending by partition name; empty if there are pages
  2: required list<ScanStorage> storages,
  5: required i64 tableVersion,
  // The visible writes. A file whose name contains "<writeToken>-<number>" is hidden if the number is greater than
  // highestWrite or is in openWrites. Every other file is visible.
  6: optional string writeToken,
  7: optional i64 highestWrite,
  8: optional list<i64> openWrites,
  9: optional ScanBuckets buckets,             // unset: not bucketed
  10: optional list<PackedScanPage> pages,     // all partitions of a large plan, in the same order, if the request asks for pages
  11: optional list<string> keys,              // names of the partition columns, in the order of ScanPartition.values
}

// ---- Publishing writes

struct BeginWriteRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional string catName,
  4: optional i32 leaseMillis = 60000,         // the lease expires this long after its last renewal
  5: optional string directory,                // the write wants a directory below it exclusively, named by its query id: see granted
  6: optional list<string> shared,             // directories that it shares with other writes
  7: optional bool overwrites,                 // the writer also removes files, which needs DELETE
}

/** A registered write. `queryId` is "<writeToken of the table>-<number>". The names of all its files must contain it. */
struct WriteLease {
  1: required string queryId,
  2: required i32 leaseMillis,
  3: optional bool granted,                    // false: it belongs to another write or object; unset: nothing is registered
}

/** A rename of a directory or file that a write is about to do. */
struct Rename {
  1: required string source,
  2: required string target,
}

/** Renews a lease, and registers files and renames before the writer creates them, so that cleaning can undo them. */
struct RenewWriteRequest {
  1: required string queryId,
  2: optional list<string> locations,          // directories that the write wants exclusively: see granted
  3: optional list<string> shared,             // directories that it shares with other writes
  4: optional list<Rename> renames,            // in order; undone in reverse order if the writer dies before it publishes
}

struct RenewWriteResult {
  1: required list<bool> granted,              // in the order of `locations`; false: it belongs to another write or object
}

enum PublishMode {
  APPEND = 1,      // the partition may exist; it keeps its location, and skewed locations are merged
  OVERWRITE = 2,   // creates the partition, or replaces its location and skewed locations
  CREATE = 3,      // the partition must not exist
}

struct SkewedLocation {
  1: required list<string> value,
  2: required string location,
}

/** One partition of a write. An unpartitioned table has one entry without values. */
struct PublishPartition {
  1: required list<string> values,
  2: required PublishMode mode,
  3: required string location,                       // directory of the files
  4: required list<SkewedLocation> skewedLocations,  // of this write
  5: optional i64 expectedVersion,                   // version that the writer has read; 0: did not exist; unset: not checked
  6: optional map<string, string> parameters,        // merged into the partition's parameters; APPEND adds numFiles, numRows, totalSize
  7: optional list<string> skewedColNames,           // skew by which the files were written; unset: the table's
  8: optional list<list<string>> skewedColValues,
  9: optional list<string> foreignFiles,             // OVERWRITE by rows that were read: names of files of other programs that were read
}

/** File layout of a table. Unset fields are not compared. */
struct FileLayout {
  1: optional string inputFormat,
  2: optional i32 numBuckets,              // 0 or less: not bucketed
  3: optional list<string> bucketCols,
}

struct PublishRequest {
  1: required string dbName,
  2: required string tableName,
  3: required string queryId,
  4: required list<PublishPartition> partitions,
  5: optional string catName,
  6: optional list<string> retired,        // further locations to delete after replaced_file_retention
  7: optional FileLayout layout,           // layout that the writer has read; ConflictException if it has changed
}

struct PublishResult {
  1: required list<i64> versions,          // in the order of the request
  2: required list<string> replaced,       // locations that are no longer used; deleted after replaced_file_retention
}

// ---- Cleaning

/** Cleans one table, one database, or everything. */
struct CleanRequest {
  1: optional string dbName,
  2: optional string tableName,
  3: optional string catName,
  4: optional bool dryRun = false,
  5: optional i64 graceMillis,             // minimum age of replaced files; unset: the server's replaced_file_retention
  6: optional bool unregistered = false,   // also files of unregistered writes, of older clients or a lost database
}

/** A location that was deleted, or would be deleted in a dry run. */
struct CleanedLocation {
  1: required string location,
  2: required string reason,               // replaced, dead writer …
  3: required i64 files,
  4: required i64 bytes,
  5: optional string queryId,
  6: optional string error,                // why the deletion failed
}

struct CleanResult {
  1: required list<CleanedLocation> locations,
  2: required i64 waiting,                 // locations that are too young, or whose writer is alive
}

// ---- Checking

/** Compares catalog and storage for one table, one database, or everything. */
struct CheckFilesRequest {
  1: optional string dbName,
  2: optional string tableName,
  3: optional string catName,
  4: optional bool repair = false,         // repairs safely: creates directories, deletes empty ones and remains of drops
}

struct FileProblem {
  1: required string location,
  2: required string problem,              // missing directory, directory without object, remains of a drop, unfinished …
  3: required string owner,                // the object that owns the directory
  4: required i64 files,                   // number of files in it
  5: required i64 bytes,
  6: required bool repairable,               // repair can fix it
  7: required bool repaired,
}

struct CheckFilesResult {
  1: required list<FileProblem> problems,
  2: required i64 directories,             // number of checked directories
}

// ---- Restoring dropped data

/** Lists restorable data of one database, or of all. */
struct DroppedRequest {
  1: optional string dbName,
  2: optional string catName,
}

/** Data that one call dropped, truncated or overwrote. Times are in seconds since 1970. */
struct DroppedObject {
  1: required i64 id,
  2: required string kind,                 // database, table, partitions, truncated, overwritten
  3: required string dbName,
  4: optional string tableName,            // unset: a database
  5: required i64 partitions,              // restorable independently of their table
  6: required i64 droppedAt,
  7: required i64 keptUntil,
  8: optional string user,
  9: optional string address,              // address of the client
  10: required i64 files,                  // number of retained files
  11: required i64 bytes,
  12: optional list<string> partitionNames,  // of the first partitions
}

/** Restores a database (without `tableName`), a table, or the latest dropped, truncated or overwritten data of a table. */
struct UndropRequest {
  1: required string dbName,
  2: optional string tableName,
  3: optional string catName,
  4: optional string partition,            // partition name, or a prefix of names: ds=1/hr=2, ds=1
  5: optional string newName,              // new name of the table
  6: optional i64 id,                      // DroppedObject.id; unset: the latest
}

struct UndropResult {
  1: required string kind,
  2: required string dbName,
  3: optional string tableName,            // current name
  4: required i64 partitions,              // restored, alone or with their table or database
}

// ---- Dependent tables

/** Creates a table whose partitions consist of a base table's partitions, by a prefix of its partition columns. */
struct CreateDependentTableRequest {
  1: required string dbName,
  2: required string tableName,
  3: required list<hive_metastore.FieldSchema> partitionKeys,  // columns without a type have the base table's type
  4: required string baseDbName,
  5: required string baseTableName,
  6: optional string catName,
  7: optional bool ifNotExists = false,
  8: optional map<string, string> parameters,
  9: optional string owner,
}

/** Changes the base table of `partitions`; unset: of all future partitions. */
struct SetDependencyRequest {
  1: required string dbName,
  2: required string tableName,
  3: required string baseDbName,
  4: required string baseTableName,
  5: optional string catName,
  6: optional list<list<string>> partitions,
}

enum DependencyDirection {
  UP = 1,    // bases of the table
  DOWN = 2,  // dependents of the table
}

struct DependenciesRequest {
  1: required string dbName,
  2: required string tableName,
  3: required DependencyDirection direction,
  4: optional string catName,
  5: optional list<string> values,        // values of the first partition columns; limits the reply to these partitions
  6: optional bool transitive = true,     // include indirect dependencies
  7: optional bool basePartitions = true, // list the names of base partitions, not only their number
}

/** One table depends on another. */
struct TableDependency {
  1: required string dbName,
  2: required string tableName,
  3: required string baseDbName,
  4: required string baseTableName,
  5: required bool current,               // new partitions depend on this base
  6: required i64 partitions,             // number of partitions that depend on it
}

/** A partition of a dependent table. It depends on all partitions of the base that begin with its values. */
struct PartitionDependency {
  1: required string dbName,
  2: required string tableName,
  3: required string partitionName,
  4: required list<string> values,
  5: required string baseDbName,
  6: required string baseTableName,
  7: required string baseSpec,            // a prefix of partition names: ds=1
  8: required i64 basePartitionsTotal,
  9: optional list<string> basePartitions,
  10: required bool fresh,                // a base partition exists, and none was changed, added or dropped since this one was published
  11: required i64 version,
}

/** A view, and a table that its text names or, of a materialized view, that its metadata names. */
struct ViewDependency {
  1: required string dbName,
  2: required string tableName,
  3: required string baseDbName,
  4: required string baseTableName,
  5: required bool materialized,
}

struct Dependencies {
  1: required list<TableDependency> tables,          // direct ones first
  2: required list<PartitionDependency> partitions,  // direct ones first, then by name
  3: optional list<ViewDependency> views,            // direct ones first
  4: optional list<string> unknownViews,             // database.view; their texts name the table, but cannot be parsed
}

struct WaitRequest {
  1: required string dbName,
  2: required string tableName,
  3: required list<string> values,        // values of the first partition columns
  4: optional string catName,
  5: optional bool dependencies = false,  // also wait for the partitions that it depends on
  6: optional i32 timeoutMillis = 10000,  // the maximum is 10 seconds; call again
}

// ---- Table care

/** Requests the plan of a catalog, a database or a table. */
struct CarePlanRequest {
  1: optional string dbName,        // unset: all databases of the catalog
  2: optional string tableName,     // unset: all tables of the database
  3: optional string catName,
  4: optional i32 limit = 500,      // number of tables, those with the most to do first; the maximum is 500
  5: optional string kind,          // discovery: only tables for which it is on. Unset: all tables
}

/** What would be done with a table. Bytes and files are those that the action concerns. */
struct CareAction {
  1: required string catName,
  2: required string dbName,
  3: required string tableName,
  4: required string kind,          // retention, discovery, compaction, empty, layout, unread, statistics
  5: required string mode,          // on, report, blocked
  6: required i64 partitions,       // 0: the table has none
  7: required i64 files,
  8: required i64 bytes,
  9: required i64 filesAfter,
  10: required i64 bytesAfter,
  11: required i64 rewrittenBytes,
  12: optional double gain,         // removed files for each byte rewritten; unset: nothing is rewritten
  13: required string reason,
}

/** A table of the plan. Unset figures are unknown. */
struct CareTable {
  1: required string catName,
  2: required string dbName,
  3: required string tableName,
  4: optional i64 partitions,       // unset also for a table without partitions
  5: optional i64 rows,
  6: optional i64 bytes,
  7: optional i64 files,
  8: optional i64 smallFiles,
  9: optional i64 growth,           // bytes a day over the last week
  10: optional i64 measuredAt,      // seconds since 1970 of its figures; unset: the time of the plan
  11: required list<string> notes,  // policies without effect, and what is not known
}

/** Requests partitions that table care would change now, in the order of their names. */
struct CarePartitionsRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional string catName,
  4: required string kind,          // retention, compaction or statistics
  5: optional string after,         // only partitions whose name is greater
  6: optional i32 limit = 1000,     // the maximum is 10,000
}

/** A partition, or a table without partitions, with its own name. Unset figures are unknown. */
struct CarePartition {
  1: required string name,
  2: required list<string> values,
  3: required i64 version,          // as in ScanPartition
  4: optional i64 files,
  5: optional i64 bytes,
  6: required i64 filesAfter,
  7: required bool held,            // partitions of dependent tables rest on it
  8: optional list<string> columns, // of the kind statistics: columns whose stored statistics are outdated
  9: optional bool isCounted,       // of the kind statistics: its files, bytes and rows need not be counted
}

/** Statistics of columns of a partition, or of a table without partitions, whose name is empty. */
struct CountedColumns {
  1: required string name,
  2: required i64 version,          // before its rows were read; as in ScanPartition
  3: required list<hive_metastore.ColumnStatisticsObj> columns,
}

/** Replaces outdated statistics of columns. */
struct RefreshColumnStatisticsRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional string catName,
  4: required list<CountedColumns> partitions,
}

/** Drops expired partitions in the order of their names. */
struct ExpirePartitionsRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional string catName,
  4: optional string after,         // only partitions whose name is greater
  5: optional i32 limit = 1000,     // expired partitions of one call; the maximum is 10,000
}

/** What one call has dropped, as one drop that can be undone, and the expired partitions that it has kept. */
struct ExpirePartitionsResult {
  1: required list<CarePartition> dropped,
  2: required list<CarePartition> held,      // partitions of dependent tables rest on them
}

/** What a program has done with a table: numbers of partitions by outcome, and the files and bytes of those done. */
struct CareRecord {
  1: required string dbName,
  2: required string tableName,
  3: optional string catName,
  4: required string kind,          // retention, discovery, compaction, statistics
  5: required i64 done,
  6: required i64 skipped,
  7: required i64 refused,
  8: required i64 failed,
  9: required i64 files,
  10: required i64 bytes,
  11: optional string reason,       // why the first partition, or the table, was left
}

/** Actions in the order of their gain, for each byte rewritten. */
struct CarePlan {
  1: required list<CareAction> actions,
  2: required list<CareTable> tables,
  3: required i64 leftOff,          // visible tables that the plan does not consider, because of the limit
  4: optional string scansSince,    // the day since which scans are recorded without a break; unset if they are not
}

/** Requests the record of a table's scans. */
struct ScanRecordsRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional string catName,
  4: optional i32 days = 30,        // the last days, with the present one
  5: optional i32 limit = 1000,     // the maximum is 10,000
}

/** A condition that all rows of a scan meet. */
struct ScanFilter {
  1: required string column,        // several columns of an OR are separated by commas
  2: required string op,            // =, IN, IS NULL, LIKE, a comparison, or other
  3: required i32 valueCount,       // of = and IN; above 8, rounded up to a power of two
  4: required list<string> values,  // only if the server records values
}

/**
 * Scans of a day and user with the same filters. Sums of files and bytes are over `sized` scans. Totals are the same sums
 * for scans without any filter, by the measurements of the table; unset if it was not measured.
 */
struct ScanRecord {
  1: required string day,           // yyyy-MM-dd, in UTC
  2: required i64 lastAt,           // seconds since 1970
  3: required string user,          // empty: not authenticated, or too many users
  4: required string kind,          // scan; opened: a client that plans no scans read the definition; other: further filters
  5: required list<ScanFilter> filters,
  6: required i64 scans,
  7: required i64 keptPartitions,
  8: optional i64 partitions,
  9: required i64 keptDirectories,
  10: required i64 directories,     // of the kept partitions
  11: required i64 sized,
  12: required i64 keptFiles,       // of the kept partitions, with all of their directories
  13: required i64 keptBytes,
  14: optional i64 files,
  15: optional i64 bytes,
}

/** The newest records first. `since`: the day since which scans are recorded without a break; unset if they are not. */
struct ScanRecords {
  1: required list<ScanRecord> records,
  2: optional string since,
}

/** A new state of a table or view of Iceberg, which names itself. */
struct TableCommit {
  1: required hive_metastore.Table table,
  2: optional string expected,      // its present metadata_location; unset: it must not exist yet
}

/** Another client changed a table or partition that this writer has read. Nothing was published. */
exception ConflictException {
  1: string message,
}

service Metastore extends hive_metastore.ThriftHiveMetastore {
  /** Returns the partitions and directories that may contain matching rows. It may return too many, never too few. */
  ScanPlan plan_scan(1: ScanRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2, 3: ConflictException o3),

  /** Returns partition values. Clients evaluate arbitrary expressions on them, and send the matching texts as TEXT_IN. */
  ScanValues scan_values(1: ScanValuesRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Returns which filters the scans of a table had, and what they kept. */
  ScanRecords get_scans(1: ScanRecordsRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Registers a write before its first file, so that readers do not see its files and cleaning finds them. */
  WriteLease begin_write(1: BeginWriteRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Renews a lease. NoSuchObjectException: the lease has expired and was cleaned up, or the write has ended. */
  RenewWriteResult renew_write(1: RenewWriteRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /**
   * Abandons a write after the writer has deleted its files. Publishing also ends a write. The write of another user is
   * aborted, and cleaning removes its files; only the owner of the table may do that.
   */
  void end_write(1: string queryId)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Deletes replaced files and files of dead writers. */
  CleanResult clean(1: CleanRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Compares the catalog with the files in storage. */
  CheckFilesResult check_files(1: CheckFilesRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Lists restorable data, the latest first. */
  list<DroppedObject> dropped(1: DroppedRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Restores dropped, truncated or overwritten data in its previous state. */
  UndropResult undrop(1: UndropRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.AlreadyExistsException o3, 4: hive_metastore.InvalidOperationException o4),

  /** Publishes all partitions of a write atomically, and ends the write. */
  PublishResult publish(1: PublishRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: ConflictException o4,
              5: hive_metastore.AlreadyExistsException o5),

  /** Publishes the writes of one statement atomically. The results are in the order of the requests. */
  list<PublishResult> publish_all(1: list<PublishRequest> requests)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: ConflictException o4,
              5: hive_metastore.AlreadyExistsException o5),

  /**
   * Creates and alters tables and views of Iceberg in one transaction: all or none. ConflictException: one of them has
   * other metadata than expected, or another client holds an exclusive lock on it.
   */
  void commit_tables(1: list<TableCommit> commits)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: ConflictException o4,
              5: hive_metastore.AlreadyExistsException o5, 6: hive_metastore.InvalidOperationException o6),

  /** Creates a dependent table: it has no files, and its partitions depend on partitions of other tables. */
  void create_dependent_table(1: CreateDependentTableRequest request)
      throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2,
              3: hive_metastore.MetaException o3, 4: hive_metastore.NoSuchObjectException o4),

  /** Changes the base of a dependent table or of some partitions. These partitions become fresh. */
  void set_dependency(1: SetDependencyRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: hive_metastore.InvalidOperationException o4),

  /** Returns the bases or the dependents of a table. Base partitions are the current ones. */
  Dependencies get_dependencies(1: DependenciesRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /**
   * Returns true as soon as a partition with these values exists, and false after the timeout or if too many calls are
   * waiting already. Call again after a pause.
   */
  bool wait_for_partition(1: WaitRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Returns what table care would do with tables by their policies. */
  CarePlan get_care_plan(1: CarePlanRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Returns the partitions that table care would change now. */
  list<CarePartition> get_care_partitions(1: CarePartitionsRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidOperationException o3),

  /**
   * Replaces the statistics that are stored for these columns, by whichever engine, and marks them as accurate, in
   * partitions that still have their version. Columns without stored statistics are left out. Returns the partitions
   * whose statistics were replaced.
   */
  list<string> refresh_column_statistics(1: RefreshColumnStatisticsRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: hive_metastore.InvalidInputException o4);

  /** Drops partitions that have expired by the policies of their table. They can be undropped. */
  ExpirePartitionsResult expire_partitions(1: ExpirePartitionsRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidOperationException o3),

  /** Records what a program of table care has done, for the audit trail and the metrics. Changes nothing else. */
  void record_care(1: CareRecord record)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
}
