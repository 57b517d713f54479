package spark_client.core;

import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's readers for the files of Hive's tables. Columns go by their names in any case, whatever the session says: Hive
 * knows no case, and its writers and ours write small letters. The readers that tasks are sent are Spark's alone.
 */
public final class HiveFileFormats {
  /** Of Parquet. */
  public static final class Parquet extends ParquetFileFormat {
    private final boolean sparks;

    /** `sparks`: a table of Spark's own kind, whose files have the names of its columns with their case. */
    Parquet(boolean sparks) {
      this.sparks = sparks;
    }

    public Function1 buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType keys, StructType required, Seq filters, Map options,
        Configuration conf) {
      if (!sparks) refuseRows(CaseInsensitiveSession.settings(session), required);
      return new ParquetFileFormat().buildReaderWithPartitionValues(
          CaseInsensitiveSession.of(session), data, keys, required, answerable(filters), options, conf);
    }
  }

  /** Of ORC. */
  public static final class Orc extends OrcFileFormat {
    public Function1 buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType keys, StructType required, Seq filters, Map options,
        Configuration conf) {
      return new OrcFileFormat().buildReaderWithPartitionValues(
          CaseInsensitiveSession.of(session), data, keys, required, answerable(filters), options, conf);
    }
  }

  /** Spark's reader that goes row by row asks the settings of the task, and would find null under such a name. */
  private static void refuseRows(SQLConf conf, StructType required) {
    if (!conf.caseSensitiveAnalysis() || ParquetUtils.isBatchReadSupportedForSchema(conf, required)) return;
    for (String name : required.fieldNames()) {
      if (name.equals(name.toLowerCase())) continue;
      RowChanges.refuse(
          name + " has capitals, which files of Hive's tables do not tell from small letters, and Spark's reader of rows does "
              + "with spark.sql.caseSensitive=true: set that to false, or spark.sql.parquet.enableVectorizedReader to true");
    }
  }

  private static Seq answerable(Seq filters) {
    List<Filter> asked = new ArrayList<>();
    for (Filter given : Scala.list(filters)) {
      Filter filter = FileFilters.widened(given);
      if (filter != null) asked.add(filter);
    }
    return Scala.seq(asked);
  }
}
