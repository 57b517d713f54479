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
  5: optional bool withTotals = false,         // count the table's partitions too: costs more on very large tables
}

/** A directory to read. `skewedValue` is unset for a directory that holds more than one value (plain or default). */
struct ScanDirectory {
  1: required string location,
  2: optional list<string> skewedValue,
}

/** What must be read of one partition; of an unpartitioned table, the one entry without values. */
struct ScanPartition {
  1: required list<string> values,
  2: required list<ScanDirectory> directories,
  3: required i64 version,
  4: optional i32 storageIndex,                // into ScanPlan.storages
  5: required i32 directoriesTotal,            // before pruning: skewed values with a location, and the default directory
  6: required string location,
}

/** How partitions are stored: many share one. */
struct ScanStorage {
  1: required list<hive_metastore.FieldSchema> columns,
  2: required string inputFormat,
  3: required string serializationLib,
  4: required map<string, string> serdeParameters,
  5: required i32 numBuckets,
  6: required list<string> bucketCols,
}

struct ScanPlan {
  1: required list<ScanPartition> partitions,  // ascending by partition name
  2: required list<ScanStorage> storages,
  3: optional i64 partitionsTotal,             // of the whole table, where asked for
  4: required i64 directoriesTotal,            // of the partitions that were kept by their values
  5: required i64 tableVersion,
}

// ---- Publishing writes

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

struct PublishRequest {
  1: required string dbName,
  2: required string tableName,
  3: required string queryId,
  4: required list<PublishPartition> partitions,
  5: optional string catName,
}

struct PublishResult {
  1: required list<i64> versions,          // in the order of the request
  2: required list<string> replaced,       // locations that no partition refers to any more
}

/** Another writer changed what this one had seen. Nothing was published. */
exception ConflictException {
  1: string message,
}

service Metastore extends hive_metastore.ThriftHiveMetastore {
  /** The partitions and directories that can hold rows for which the predicate is true. May keep too much, never too little. */
  ScanPlan plan_scan(1: ScanRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2),

  /** All partitions of one write, in one transaction: all of it becomes visible, or nothing. */
  PublishResult publish(1: PublishRequest request)
      throws (1: hive_metastore.MetaException o1, 2: hive_metastore.NoSuchObjectException o2,
              3: hive_metastore.InvalidObjectException o3, 4: ConflictException o4,
              5: hive_metastore.AlreadyExistsException o5),
}
