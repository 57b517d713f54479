package spark_client.joins;

import java.util.ArrayList;
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
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;
import spark_client.buckets.BucketFiles;
import spark_client.buckets.BucketFilter;
import spark_client.core.HiveTableIndex;
import spark_client.core.Scala;
import spark_client.core.SparkVersions;

/** A scan in which each task reads the files of one bucket. */
public final class BucketScan {
  private final SparkSession session;
  private final HiveTableIndex index;

  public BucketScan(SparkSession session, HiveTableIndex index) {
    this.session = session;
    this.index = index;
  }

  /** The optimized plan of a query that reads the table alone, with this in place of the scan; null if it cannot. */
  public LogicalPlan of(LogicalPlan query, FileSourceScanExec scan) {
    HiveTableIndex.Listing listing = index.list(scan.partitionFilters(), scan.dataFilters());
    BucketFiles buckets = (BucketFiles) listing.buckets();
    List columns = buckets == null ? null : columns(buckets, scan.output());
    if (columns == null) return null;
    Partitioning partitioning = new BucketPartitioning(
        columns, buckets.types(), buckets.version(), buckets.zone(), buckets.fewest(), scan);
    RDD rows = rows(scan, files(buckets, listing.directories()));
    LogicalRDD leaf = (LogicalRDD) SparkVersions.make(
        LogicalRDD.class, scan.output(), rows, partitioning, Scala.seq(), false, session, Option.apply(query.stats()));
    return (LogicalPlan) query.transformUp(new Replacement(leaf));
  }

  /** The bucketing columns among the output, or null where equal values need not be in one bucket. */
  private static List columns(BucketFiles buckets, Seq output) {
    StructType types = buckets.types();
    if (buckets.version() == 0 || types == null || !buckets.exact()) return null;
    List<Attribute> columns = new ArrayList<>();
    for (StructField type : types.fields()) {
      Attribute column = column(output, type.name());
      if (column == null || !BucketFilter.equalInOneBucket(type.dataType())) return null;
      columns.add(column);
    }
    return columns;
  }

  private static Attribute column(Seq output, String name) {
    for (Attribute column : Scala.list(output)) if (column.name().equalsIgnoreCase(name)) return column;
    return null;
  }

  /** A FilePartition for each bucket. */
  private static Seq files(BucketFiles buckets, Seq directories) {
    List[] files = new List[buckets.fewest()];
    for (int i = 0; i < files.length; i++) files[i] = new ArrayList<PartitionedFile>();
    for (PartitionDirectory directory : Scala.list(directories)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        files[buckets.number(file.getPath()) % files.length].add(file(directory.values(), file));
      }
    }
    List<FilePartition> partitions = new ArrayList<>();
    for (int i = 0; i < files.length; i++) {
      partitions.add(new FilePartition(i, (PartitionedFile[]) files[i].toArray(new PartitionedFile[0])));
    }
    return Scala.seq(partitions);
  }

  /** A whole file, with the row of its partition's values. */
  private static PartitionedFile file(InternalRow values, FileStatusWithMetadata file) {
    SparkPath path = SparkPath.fromFileStatus(file.fileStatus());
    return new PartitionedFile(
        values, path, 0L, file.getLen(), new String[0], file.getModificationTime(), file.getLen(), Map$.MODULE$.empty());
  }

  private RDD rows(FileSourceScanExec scan, Seq partitions) {
    HadoopFsRelation relation = scan.relation();
    Map options = (Map) relation.options().updated(FileFormat$.MODULE$.OPTION_RETURNING_BATCH(), "false");
    Function1 reader = relation.fileFormat().buildReaderWithPartitionValues(
        session, relation.dataSchema(), relation.partitionSchema(), scan.requiredSchema(), scan.pushedDownFilters(),
        options, session.sessionState().newHadoopConfWithOptions(relation.options()));
    return new FileScanRDD(
        session, reader, partitions, scan.requiredSchema(), Scala.seq(), Map$.MODULE$.empty(),
        FileScanRDD.$lessinit$greater$default$7());
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
