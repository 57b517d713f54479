package spark_client;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

import org.apache.spark.paths.SparkPath;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** A scan in which each task reads the files of one bucket. */
public final class BucketScan {
  private final SparkSession session;
  private final List[] files;

  /** `count`: of tasks. */
  public BucketScan(SparkSession session, int count) {
    this.session = session;
    this.files = new List[count];
    for (int i = 0; i < count; i++) files[i] = new ArrayList();
  }

  /** A file with the row of its partition's values. */
  public void add(int bucket, InternalRow values, FileStatusWithMetadata file) {
    SparkPath path = SparkPath.fromFileStatus(file.fileStatus());
    files[bucket % files.length].add(new PartitionedFile(
        values, path, 0L, file.getLen(), new String[0], file.getModificationTime(), file.getLen(), Map$.MODULE$.empty()));
  }

  /** The optimized plan of a query, which reads one table, with this in place of the table. */
  public LogicalPlan in(LogicalPlan plan, FileSourceScanExec scan, Partitioning partitioning) {
    HadoopFsRelation relation = scan.relation();
    Map options = (Map) relation.options().updated(FileFormat$.MODULE$.OPTION_RETURNING_BATCH(), "false");
    Function1 reader = relation.fileFormat().buildReaderWithPartitionValues(
        session, relation.dataSchema(), relation.partitionSchema(), scan.requiredSchema(), scan.pushedDownFilters(),
        options, session.sessionState().newHadoopConfWithOptions(relation.options()));
    List partitions = new ArrayList();
    for (int i = 0; i < files.length; i++) {
      partitions.add(new FilePartition(i, (PartitionedFile[]) files[i].toArray(new PartitionedFile[0])));
    }
    RDD rows = new FileScanRDD(
        session, reader, seq(partitions), scan.requiredSchema(), seq(new ArrayList()), Map$.MODULE$.empty(),
        FileScanRDD.$lessinit$greater$default$7());
    LogicalRDD leaf = new LogicalRDD(
        scan.output(), rows, ((BucketPartitioning) partitioning).of(scan), seq(new ArrayList()), false, Option.empty(), session,
        Option.apply(plan.stats()), Option.empty(), false);
    return (LogicalPlan) plan.transformUp(new Replacement(leaf));
  }

  private static Seq seq(List list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  private static final class Replacement extends AbstractPartialFunction {
    private final LogicalRDD leaf;

    Replacement(LogicalRDD leaf) {
      this.leaf = leaf;
    }

    public boolean isDefinedAt(Object plan) {
      return plan instanceof LogicalRelation;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      return plan instanceof LogicalRelation ? leaf : otherwise.apply(plan);
    }
  }
}
