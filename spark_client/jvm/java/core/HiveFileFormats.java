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
 * Spark's readers for the files of Hive tables.
 *
 * Columns are matched by name without regard to case, even in a case-sensitive session: Hive ignores case, and Hive
 * and this library write names in lower case. The readers that run in tasks are Spark's own.
 */
public final class HiveFileFormats {
  /** The reader of Parquet files. */
  public static final class Parquet extends ParquetFileFormat {
    private final boolean datasource;

    /** `datasource`: the table is a datasource table, whose files have the case of its column names. */
    Parquet(boolean datasource) {
      this.datasource = datasource;
    }

    public Function1 buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType keys, StructType required, Seq filters, Map options,
        Configuration conf) {
      if (!datasource) rejectCapitals(CaseInsensitiveSession.settings(session), required);
      return new ParquetFileFormat().buildReaderWithPartitionValues(
          CaseInsensitiveSession.of(session), data, keys, required, pushed(filters, false), options, conf);
    }
  }

  /** The reader of ORC files. */
  public static final class Orc extends OrcFileFormat {
    public Function1 buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType keys, StructType required, Seq filters, Map options,
        Configuration conf) {
      return new OrcFileFormat().buildReaderWithPartitionValues(
          CaseInsensitiveSession.of(session), data, keys, required, pushed(filters, true), options, conf);
    }
  }

  /**
   * Rejects columns that would be read as null: Spark's row-based reader uses the case-sensitivity setting of the task.
   */
  private static void rejectCapitals(SQLConf conf, StructType required) {
    if (!conf.caseSensitiveAnalysis() || ParquetUtils.isBatchReadSupportedForSchema(conf, required)) return;
    for (String name : required.fieldNames()) {
      if (name.equals(name.toLowerCase())) continue;
      RowChanges.reject(
          "column " + name + " has capital letters: Spark's row-based reader does not find it in files of Hive tables with "
              + "spark.sql.caseSensitive=true; set that to false, or spark.sql.parquet.enableVectorizedReader to true");
    }
  }

  private static Seq pushed(Seq filters, boolean orc) {
    List<Filter> pushed = new ArrayList<>();
    for (Filter original : Scala.list(filters)) {
      Filter filter = FileFilters.widened(original);
      if (filter != null && orc) filter = FileFilters.withoutNullFields(filter);
      if (filter != null) pushed.add(filter);
    }
    return Scala.seq(pushed);
  }
}
