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
 * An analyzer rule: Spark's file sink does not take over a table with rows, and no other writer adds rows to its table.
 *
 * Readers of a table of the file sink see only the files in the sink's log. Streams of PySpark sessions of this library
 * use another sink (streams.py); streams of other clients are checked here.
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
    boolean isFileSink = stream.sink().getClass().getSimpleName().equals("FileStreamSink");
    if (!isFileSink || stream.catalogTable().isEmpty()) return;
    CatalogTable table = (CatalogTable) stream.catalogTable().get();
    check(table, new Path(table.location()));
  }

  /** An overwrite of the whole table also deletes the log and is allowed. */
  private void check(InsertIntoHadoopFsRelationCommand insert) throws IOException {
    if (insert.catalogTable().isEmpty()) return;
    CatalogTable table = (CatalogTable) insert.catalogTable().get();
    if (insert.mode() == SaveMode.Overwrite && table.partitionColumnNames().isEmpty()) return;
    Path log = new Path(new Path(table.location()), METADATA);
    if (!log.getFileSystem(session.sessionState().newHadoopConf()).exists(log)) return;
    reject(table, " is written by Spark's file sink, whose readers ignore other changes: copy the table with "
        + "CREATE TABLE AS SELECT and change the copy");
  }

  /**
   * The sink has created its log directory before this check. Readers follow the log as soon as it exists, so it is
   * deleted.
   */
  private void check(CatalogTable table, Path location) throws IOException {
    FileSystem files = location.getFileSystem(session.sessionState().newHadoopConf());
    Path log = new Path(location, METADATA);
    if (files.listStatus(log).length > 0) return;
    for (FileStatus file : files.listStatus(location)) {
      String name = file.getPath().getName();
      if (name.startsWith("_") || name.startsWith(".")) continue;
      files.delete(log, false);
      reject(table, " has rows, which readers would ignore after Spark's file sink has written to it: use "
          + "foreachBatch with INSERT INTO");
    }
  }

  private static void reject(CatalogTable table, String message) {
    Platform.throwException(new QueryExecutionException(table.identifier().unquotedString() + message, null));
  }
}
