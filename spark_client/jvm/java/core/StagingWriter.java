package spark_client.core;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;

/** Writes the rows of a statement into the directory of its write. One call passes all options. */
public final class StagingWriter {
  /** Directories that Hadoop's committer creates for a job. */
  private static final String COMMITTER = "_temporary/0/_temporary";

  /**
   * The name of the plan's node below the expressions of its columns, and the number of rows if it contains them (else
   * -1), separated by a NUL.
   */
  public String source(Dataset rows) {
    LogicalPlan plan = rows.queryExecution().analyzed();
    while (isTransparent(plan.nodeName())) plan = (LogicalPlan) plan.children().apply(0);
    int count = plan instanceof LocalRelation ? ((LocalRelation) plan).data().size() : -1;
    return plan.nodeName() + "\0" + count;
  }

  private static boolean isTransparent(String name) {
    return name.equals("Project") || name.equals("SubqueryAlias") || name.equals("View");
  }

  /** The schema as JSON. */
  public String schema(Dataset rows) {
    return rows.schema().json();
  }

  /** The rows with these columns, which are SQL separated by NUL characters. */
  public Dataset select(Dataset rows, String columns) {
    return rows.selectExpr(columns.split("\0"));
  }

  /**
   * Runs the job. `columns` name the directories below the location. `options` are names and values of options. Both
   * are texts separated by NUL characters.
   */
  public void write(Dataset rows, String format, String location, String columns, String options) throws Exception {
    Configuration conf = rows.sparkSession().sessionState().newHadoopConf();
    Path path = new Path(location);
    LocalDirectories.make(path.getFileSystem(conf), new Path(path, COMMITTER), conf);
    save(rows, format, location, columns, options);
  }

  static void save(Dataset rows, String format, String location, String columns, String options) {
    DataFrameWriter writer = rows.write().format(format).mode("append");
    String[] pairs = options.split("\0", -1);
    for (int i = 0; i + 1 < pairs.length; i += 2) writer.option(pairs[i], pairs[i + 1]);
    if (!columns.isEmpty()) writer.partitionBy(columns.split("\0"));
    writer.save(location);
  }
}
