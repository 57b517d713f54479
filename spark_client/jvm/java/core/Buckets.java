package spark_client.core;

import java.util.Map;

import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import scala.collection.immutable.Seq;

/** What a scan makes of a bucketed table's files. */
public interface Buckets {
  /**
   * Finds the files of the buckets that the filters leave, among the visible files of an index, empty ones too.
   * `partitions`: for each of its directories, what Python has said of the partition's buckets.
   */
  void choose(InMemoryFileIndex index, VisibleWrites writes, Map partitions, Seq filters);

  /** The files of a listing that are to be opened. */
  Seq of(Seq directories);

  /** How many buckets these are, over all directories. */
  long buckets();
}
