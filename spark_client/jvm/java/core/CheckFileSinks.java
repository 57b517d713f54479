package spark_client.core;

import java.io.IOException;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.unsafe.Platform;

/**
 * A rule of the analyzer: Spark's file sink does not take over a table in which there are rows. Of a table that it writes,
 * readers see its files alone. Streams of PySpark's own sessions have another sink (streams.py); those of others come here.
 */
public final class CheckFileSinks extends Rule {
  private static final String METADATA = "_spark_metadata";

  private final SparkSession session;

  public CheckFileSinks(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    if (!(plan instanceof WriteToStream)) return plan;
    WriteToStream stream = (WriteToStream) plan;
    boolean toFiles = stream.sink().getClass().getSimpleName().equals("FileStreamSink");
    if (!toFiles || stream.catalogTable().isEmpty()) return plan;
    CatalogTable table = (CatalogTable) stream.catalogTable().get();
    try {
      check(table, new Path(table.location()));
    } catch (IOException failure) {
      Platform.throwException(failure);
    }
    return plan;
  }

  /** The sink has made the directory of its log already; while that is there, its readers go by it. */
  private void check(CatalogTable table, Path place) throws IOException {
    FileSystem files = place.getFileSystem(session.sessionState().newHadoopConf());
    Path log = new Path(place, METADATA);
    if (files.listStatus(log).length > 0) return;
    for (FileStatus file : files.listStatus(place)) {
      String name = file.getPath().getName();
      if (name.startsWith("_") || name.startsWith(".")) continue;
      files.delete(log, false);
      refuse(table);
    }
  }

  private static void refuse(CatalogTable table) {
    String name = table.identifier().unquotedString();
    Platform.throwException(
        new QueryExecutionException(
            name + " has rows, which nobody would read any more if Spark's file sink wrote to it: use foreachBatch with "
                + "INSERT INTO " + name, null));
  }
}
