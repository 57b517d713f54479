package spark_client.core;

import java.io.IOException;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.unsafe.Platform;

/**
 * A rule of the analyzer: Spark's file sink does not take over a table in which there are rows, and none come beside
 * its own: readers of such a table see these alone. Streams of PySpark's own sessions have another sink (streams.py);
 * those of others come here.
 */
public final class CheckFileSinks extends Rule {
  private static final String METADATA = "_spark_metadata";

  private final SparkSession session;

  public CheckFileSinks(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    try {
      if (plan instanceof WriteToStream) check((WriteToStream) plan);
      if (plan instanceof InsertIntoHadoopFsRelationCommand) check((InsertIntoHadoopFsRelationCommand) plan);
    } catch (IOException failure) {
      Platform.throwException(failure);
    }
    return plan;
  }

  private void check(WriteToStream stream) throws IOException {
    boolean toFiles = stream.sink().getClass().getSimpleName().equals("FileStreamSink");
    if (!toFiles || stream.catalogTable().isEmpty()) return;
    CatalogTable table = (CatalogTable) stream.catalogTable().get();
    check(table, new Path(table.location()));
  }

  /** An overwrite of all that is there takes the log away, too. */
  private void check(InsertIntoHadoopFsRelationCommand insert) throws IOException {
    if (insert.catalogTable().isEmpty()) return;
    CatalogTable table = (CatalogTable) insert.catalogTable().get();
    if (insert.mode() == SaveMode.Overwrite && table.partitionColumnNames().isEmpty()) return;
    Path log = new Path(new Path(table.location()), METADATA);
    if (!log.getFileSystem(session.sessionState().newHadoopConf()).exists(log)) return;
    refuse(table, " is written by Spark's file sink, and its readers would overlook other changes: make another "
        + "table of it with CREATE TABLE AS SELECT, and change that");
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
      refuse(table, " has rows, which nobody would read any more if Spark's file sink wrote to it: use foreachBatch "
          + "with INSERT INTO");
    }
  }

  private static void refuse(CatalogTable table, String why) {
    Platform.throwException(new QueryExecutionException(table.identifier().unquotedString() + why, null));
  }
}
