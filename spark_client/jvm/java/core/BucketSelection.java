package spark_client.core;

import java.util.Map;

import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import scala.collection.immutable.Seq;

/** The files of a bucketed table that a scan reads. */
public interface BucketSelection {
  /**
   * Selects the visible files of an index, including empty ones, whose buckets match the filters. `partitions` maps
   * each directory to the buckets of its partition, as Python sent them.
   */
  void select(InMemoryFileIndex index, VisibleWrites writes, Map partitions, Seq filters);

  /** The directories of a listing with only the selected files. */
  Seq selectedFiles(Seq directories);

  /** The number of selected buckets, over all directories. */
  long buckets();
}
