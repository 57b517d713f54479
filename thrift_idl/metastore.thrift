/*
 * Our own service. It extends the Hive Metastore's on the same port, so that one connection serves both.
 * The PySpark client plans scans and publishes writes with it; every other client never notices.
 */

include "hive_metastore.thrift"

namespace py thrift_idl.gen.metastore

// ---- Predicates

/** What a node of a predicate says. Comparisons read "column OP value". */
enum PredicateOperator {
  UNKNOWN = 0,               // nothing is known of it: it may be true, false or null
  TRUE = 1,
  FALSE = 2,
  NULL = 3,
  AND = 4,                   // takes its last `operands` predecessors
  OR = 5,                    // takes its last `operands` predecessors
  NOT = 6,                   // takes its last predecessor
  EQUAL = 7,
  LESS = 8,
  LESS_OR_EQUAL = 9,
  GREATER = 10,
  GREATER_OR_EQUAL = 11,
  IN = 12,                   // any of `values`
  IS_NULL = 13,
  NULL_SAFE_EQUAL = 14,      // <=>, with a value that is not null
  STARTS_WITH = 15,
  TEXT_IN = 16,              // of a partition column: its text is one of `values`, whatever its type; never null
}

/**
 * One node of a predicate in postfix order: operands first, so that no depth of nesting can exhaust a stack.
 * `values` are texts as Hive writes partition values: 5, 2024-01-31, 1.50, true, abc. Never null.
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
  3: optional list<PredicateNode> predicate,   // none: everything
  4: optional string catName,
  // 5 was the wish for totals that nobody read
  6: optional string state,                    // as ScanValues had it: ConflictException if it is another by now
}

/** Which values `columns` of the partitions have that a scan reads. */
struct ScanValuesRequest {
  1: required ScanRequest scan,
  2: required list<string> columns,            // partition columns
}

/**
 * The texts of these columns: as many for each combination as there are columns; a combination may come twice. They are
 * all that there are as long as the table's list of partitions has this state, which no change of it leaves as it is.
 */
struct ScanValues {
  1: required list<string> texts,
  2: required string state,
}

/** A directory to read. */
struct ScanDirectory {
  1: required string location,
}

/**
 * What must be read of one partition; of an unpartitioned table, the one entry without values.
 * Where the partition has skew directories, its `location` is not among them, but files may lie in it, too (not below
 * it): those of heavy values in the flat layout, and those of writers that know nothing of skew. They are to be read
 * but for ScanStorage.prunedFiles.
 */
struct ScanPartition {
  1: required list<string> values,
  2: required list<ScanDirectory> directories,
  3: required i64 version,
  4: optional i32 storageIndex,                // into ScanPlan.storages
  6: required string location,
  7: optional bool unplaced,                   // it has skew, and no directory of a heavy value is known: all may lie there
}

/** How partitions are stored: many share one. */
struct ScanStorage {
  1: required list<hive_metastore.FieldSchema> columns,
  2: required string inputFormat,
  3: required string serializationLib,
  4: required map<string, string> serdeParameters,
  5: required i32 numBuckets,
  6: required list<string> bucketCols,
  7: optional list<string> prunedFiles,        // beginnings of names of files, in a partition's location, without a match
}

/** CLUSTERED BY `columns` INTO `count` BUCKETS: a table's own, with its parameter bucketing_version, if it has one. */
struct ScanBuckets {
  1: required list<hive_metastore.FieldSchema> columns,
  2: required i32 count,
  3: optional string bucketingVersion,
}

struct ScanPlan {
  1: required list<ScanPartition> partitions,  // ascending by partition name
  2: required list<ScanStorage> storages,
  5: required i64 tableVersion,
  // Which writes this plan sees. A file whose name holds "<writeToken>-<number>" is hidden if the number is above
  // highestWrite or among openWrites; every other file is visible, whoever wrote it.
  6: optional string writeToken,
  7: optional i64 highestWrite,
  8: optional list<i64> openWrites,
  9: optional ScanBuckets buckets,             // unset: the table has none
}

// ---- Publishing writes

struct BeginWriteRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional string catName,
  4: optional i32 leaseMillis = 60000,         // without renewal for so long, the writer counts as dead
}

/** A write that has begun: `queryId` is "<the table's writeToken>-<number>", and the names of all its files hold it. */
struct WriteLease {
  1: required string queryId,
  2: required i32 leaseMillis,
}

/** A rename of a directory or file that an in-place write is about to do. */
struct Rename {
  1: required string source,
  2: required string target,
}

/** Says that the writer lives; and, before it does so, where it puts files and what it renames: what cleaning looks at. */
struct RenewWriteRequest {
  1: required string queryId,
  2: optional list<string> locations,          // directories that are to be its own until it ends: see granted
  3: optional list<string> shared,             // directories that it adds files to, which are others' as well
  4: optional list<Rename> renames,            // in their order; undone in reverse if the writer dies before it publishes
}

struct RenewWriteResult {
  1: required list<bool> granted,              // in the order of `locations`; false: another write or object has it
}

enum PublishMode {
  APPEND = 1,      // the partition may exist; its location stays, its skewed locations are merged
  OVERWRITE = 2,   // the partition is created, or its location and skewed locations are replaced
  CREATE = 3,      // the partition must not exist
}

struct SkewedLocation {
  1: required list<string> value,
  2: required string location,
}

/** One partition of a write; for an unpartitioned table, one entry without values. */
struct PublishPartition {
  1: required list<string> values,
  2: required PublishMode mode,
  3: required string location,                       // where the files are now
  4: required list<SkewedLocation> skewedLocations,  // of this write only
  5: optional i64 expectedVersion,                   // as the writer saw it; 0: it was not there. Unset: any
  6: optional map<string, string> parameters,        // merged into the partition's (numFiles, numRows, totalSize are added up on APPEND)
  7: optional list<string> skewedColNames,           // the skew that the files were written by. Unset: the table's
  8: optional list<list<string>> skewedColValues,
}

/** How a table's files are made; what is unset is not compared. */
struct FileLayout {
  1: optional string inputFormat,
  2: optional i32 numBuckets,              // 0 or less: no buckets
  3: optional list<string> bucketCols,
}

struct PublishRequest {
  1: required string dbName,
  2: required string tableName,
  3: required string queryId,
  4: required list<PublishPartition> partitions,
  5: optional string catName,
  6: optional list<string> retired,        // locations, besides what is replaced, that may go after the grace time
  7: optional FileLayout layout,           // as the writer saw it of the table; a conflict if it is another one by now
}

struct PublishResult {
  1: required list<i64> versions,          // in the order of the request
  2: required list<string> replaced,       // locations that no partition refers to any more: cleaned after the grace time
}

// ---- Cleaning

/** Of one table, of one database, or of all. */
struct CleanRequest {
  1: optional string dbName,
  2: optional string tableName,
  3: optional string catName,
  4: optional bool dryRun = false,
  5: optional i64 graceMillis,             // age of what is no longer referenced; unset: as the server is set
  6: optional bool unregistered = false,   // and what no write registered: left by older clients, or a lost database
}

/** What was, or would be, removed. */
struct CleanedLocation {
  1: required string location,
  2: required string reason,               // replaced, dead writer …
  3: required i64 files,
  4: required i64 bytes,
  5: optional string queryId,
  6: optional string error,                // set: it is still there, and why
}

struct CleanResult {
  1: required list<CleanedLocation> locations,
  2: required i64 waiting,                 // locations that are within their grace time, or whose writer lives
}

// ---- Checking

/** Whether catalog and storage agree: of one table, of one database, or of all. */
struct CheckFilesRequest {
  1: optional string dbName,
  2: optional string tableName,
  3: optional string catName,
  4: optional bool repair = false,         // mends what is safe: makes directories, removes empty ones and remains of drops
}

struct FileProblem {
  1: required string location,
  2: required string problem,              // missing directory, directory without object, remains of a drop, unfinished …
  3: required string owner,                // whose it is, or in whose directory it lies
  4: required i64 files,                   // that lie there
  5: required i64 bytes,
  6: required bool mendable,               // by repair
  7: required bool mended,
}

struct CheckFilesResult {
  1: required list<FileProblem> problems,
  2: required i64 directories,             // that were looked at
}

// ---- Taking back

/** What can be taken back: of one database, or of all. */
struct DroppedRequest {
  1: optional string dbName,
  2: optional string catName,
}

/** What one call dropped, truncated or overwrote. Times in seconds since 1970. */
struct DroppedObject {
  1: required i64 id,
  2: required string kind,                 // database, table, partitions, truncated, overwritten
  3: required string dbName,
  4: optional string tableName,            // unset: of a database
  5: required i64 partitions,              // that can be taken back apart from their table
  6: required i64 droppedAt,
  7: required i64 keptUntil,
  8: optional string user,
  9: optional string address,              // of the client
  10: required i64 files,                  // that are kept for it
  11: required i64 bytes,
}

/** A database (no `tableName`), a table, or what was dropped, truncated or overwritten of a table: the newest. */
struct UndropRequest {
  1: required string dbName,
  2: optional string tableName,
  3: optional string catName,
  4: optional string partition,            // its name, or the beginning of some: ds=1/hr=2, ds=1
  5: optional string newName,              // of the table
  6: optional i64 id,                      // of what `dropped` lists; unset: the newest
}

struct UndropResult {
  1: required string kind,
  2: required string dbName,
  3: optional string tableName,            // as it is called now
  4: required i64 partitions,              // that came back apart from their table
}

// ---- Dependent tables

/** Makes a table whose partitions are those of another table, by a prefix of its partition columns. */
struct CreateDependentTableRequest {
  1: required string dbName,
  2: required string tableName,
  3: required list<hive_metastore.FieldSchema> partitionKeys,  // without a type: the base table's
  4: required string baseDbName,
  5: required string baseTableName,
  6: optional string catName,
  7: optional bool ifNotExists = false,
  8: optional map<string, string> parameters,
  9: optional string owner,
}

/** Without `partitions`: new partitions depend on the base table from now on. With: these partitions do. */
struct SetDependencyRequest {
  1: required string dbName,
  2: required string tableName,
  3: required string baseDbName,
  4: required string baseTableName,
  5: optional string catName,
  6: optional list<list<string>> partitions,
}

enum DependencyDirection {
  UP = 1,    // what it depends on
  DOWN = 2,  // what depends on it
}

struct DependenciesRequest {
  1: required string dbName,
  2: required string tableName,
  3: required DependencyDirection direction,
  4: optional string catName,
  5: optional list<string> values,        // of the first partition columns: only what has to do with these partitions
  6: optional bool transitive = true,     // dependent tables may depend on dependent tables
  7: optional bool basePartitions = true, // name every base partition, not only their number
}

/** One table depends on another. */
struct TableDependency {
  1: required string dbName,
  2: required string tableName,
  3: required string baseDbName,
  4: required string baseTableName,
  5: required bool current,               // new partitions depend on this one
  6: required i64 partitions,             // partitions that depend on it now
}

/** A partition of a dependent table, and what it depends on: all partitions of the base that begin with these values. */
struct PartitionDependency {
  1: required string dbName,
  2: required string tableName,
  3: required string partitionName,
  4: required list<string> values,
  5: required string baseDbName,
  6: required string baseTableName,
  7: required string baseSpec,            // as a partition's name: ds=1
  8: required i64 basePartitionsTotal,
  9: optional list<string> basePartitions,
  10: required bool fresh,                // no base partition has changed, come or gone since this one was published
  11: required i64 version,
}

struct Dependencies {
  1: required list<TableDependency> tables,          // nearest first
  2: required list<PartitionDependency> partitions,  // nearest first, then by name
}

struct WaitRequest {
  1: required string dbName,
  2: required string tableName,
  3: required list<string> values,        // of the first partition columns
  4: optional string catName,
  5: optional bool dependencies = false,  // and all that it depends on
  6: optional i32 timeoutMillis = 10000,  // a server answers within 10 seconds in any case: ask again
}

/** Another writer changed what this one had seen. Nothing was published. */
exception ConflictException {
  1: string message,
}

service Metastore extends hive_metastore.ThriftHiveMetastore {
  /** The partitions and directories that can hold rows for which the predicate is true. May keep too much, never too little. */
  ScanPlan plan_scan(1: ScanRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2, 3: ConflictException o3),

  /** With these, a client finds out itself what no predicate can say, and says it of their texts, by TEXT_IN. */
  ScanValues scan_values(1: ScanValuesRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Registers a write before its first file, so that readers do not see its files and cleaning finds them. */
  WriteLease begin_write(1: BeginWriteRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** NoSuchObjectException: the lease ran out and was cleaned, or the write has ended. */
  RenewWriteResult renew_write(1: RenewWriteRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Gives a write up whose files the writer has removed itself. Publishing ends a write, too. */
  void end_write(1: string queryId)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Removes files that nothing refers to any more: what was replaced, and what dead writers left. */
  CleanResult clean(1: CleanRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Compares the catalog with what lies in storage. */
  CheckFilesResult check_files(1: CheckFilesRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** What was dropped, truncated or overwritten and can be taken back, the newest first. */
  list<DroppedObject> dropped(1: DroppedRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** Takes back what was dropped, truncated or overwritten: all of it is as it was. */
  UndropResult undrop(1: UndropRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.AlreadyExistsException o3, 4: hive_metastore.InvalidOperationException o4),

  /** All partitions of one write, in one transaction, which ends the write: all of it becomes visible, or nothing. */
  PublishResult publish(1: PublishRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: ConflictException o4,
              5: hive_metastore.AlreadyExistsException o5),

  /** The writes of one statement, in one transaction: all of them become visible, or none. Results as the requests. */
  list<PublishResult> publish_all(1: list<PublishRequest> requests)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: ConflictException o4,
              5: hive_metastore.AlreadyExistsException o5),

  /** A table of its own kind: its data are those of other tables, its partitions depend on theirs. */
  void create_dependent_table(1: CreateDependentTableRequest request)
      throws (1: hive_metastore.AlreadyExistsException o1, 2: hive_metastore.InvalidObjectException o2,
              3: hive_metastore.MetaException o3, 4: hive_metastore.NoSuchObjectException o4),

  /** Changes what a dependent table, or some of its partitions, depends on; these partitions are fresh then. */
  void set_dependency(1: SetDependencyRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: hive_metastore.InvalidOperationException o4),

  /** What a table or partition depends on, or what depends on it: base partitions are those that are there now. */
  Dependencies get_dependencies(1: DependenciesRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /**
   * Answers true as soon as there is a partition with these values, false when the time is over, or at once when too
   * many wait already: ask again after a pause.
   */
  bool wait_for_partition(1: WaitRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),
}
