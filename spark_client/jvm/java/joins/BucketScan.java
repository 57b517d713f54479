package spark_client.joins;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.paths.SparkPath;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;
import spark_client.buckets.BucketFiles;
import spark_client.buckets.BucketFilter;
import spark_client.core.HiveTableIndex;
import spark_client.core.PartitionFilters;
import spark_client.core.Scala;
import spark_client.core.SparkVersions;

/**
 * Scans in which each task reads the files of one bucket.
 *
 * An option of the relation requests such a scan. The files are listed whenever a query is planned.
 */
public final class BucketScan {
  private static final String BY_BUCKET = "spark_client.by_bucket";

  private final SparkSession session;

  public BucketScan(SparkSession session) {
    this.session = session;
  }

  /** Whether a scan of a Hive table can be read by bucket. */
  public boolean canRead(FileSourceScanExec scan) {
    return rows(scan) != null;
  }

  /** The query with its only Hive table marked to be read by bucket. */
  public LogicalPlan byBucket(LogicalPlan query) {
    List<Object> strategies = Scala.list(session.experimental().extraStrategies());
    boolean known = false;
    for (Object strategy : strategies) known = known || strategy instanceof Strategy;
    if (!known) {
      strategies.add(new Strategy(this));
      session.experimental().extraStrategies_$eq(Scala.seq(strategies));
    }
    return (LogicalPlan) query.transformUp(new Marking(session));
  }

  /** The rows of a scan by bucket, or null if it cannot be read that way. */
  private SparkPlan rows(FileSourceScanExec scan) {
    List<Object> known = new ArrayList<>();
    Expression later = null;
    for (Expression filter : Scala.list(scan.partitionFilters())) {
      if (!filter.exists(new PartitionFilters.Dynamic())) known.add(filter);
      else if (!(filter instanceof DynamicPruning)) later = later == null ? filter : new And(later, filter);
    }
    HiveTableIndex index = (HiveTableIndex) scan.relation().location();
    HiveTableIndex.Listing listing = index.list(Scala.seq(known), scan.dataFilters());
    BucketFiles buckets = (BucketFiles) listing.buckets();
    List columns = buckets == null ? null : columns(buckets, scan.output());
    if (columns == null) return null;
    Partitioning partitioning = new BucketPartitioning(
        columns, buckets.types(), buckets.version(), buckets.zone(), buckets.fewest(), scan);
    RDD rows = rdd(scan, files(buckets, listing.directories()));
    SparkPlan leaf = (SparkPlan) SparkVersions.newInstance(
        RDDScanExec.class, scan.output(), rows, "ByBucket", partitioning, Scala.seq());
    return later == null ? leaf : new FilterExec(later, leaf);
  }

  /** The bucketing columns in the output, or null if equal values can be in different buckets. */
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

  /** One FilePartition per bucket. */
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

  /** A whole file with the values of its partition. */
  private static PartitionedFile file(InternalRow values, FileStatusWithMetadata file) {
    SparkPath path = SparkPath.fromFileStatus(file.fileStatus());
    return new PartitionedFile(
        values, path, 0L, file.getLen(), new String[0], file.getModificationTime(), file.getLen(), Map$.MODULE$.empty());
  }

  private RDD rdd(FileSourceScanExec scan, Seq partitions) {
    HadoopFsRelation relation = scan.relation();
    Map options = (Map) relation.options().updated(FileFormat$.MODULE$.OPTION_RETURNING_BATCH(), "false");
    Function1 reader = relation.fileFormat().buildReaderWithPartitionValues(
        session, relation.dataSchema(), relation.partitionSchema(), scan.requiredSchema(), scan.pushedDownFilters(),
        options, session.sessionState().newHadoopConfWithOptions(relation.options()));
    return new FileScanRDD(
        session, reader, partitions, scan.requiredSchema(), Scala.seq(), Map$.MODULE$.empty(),
        FileScanRDD.$lessinit$greater$default$7());
  }

  private static boolean isByBucket(Object plan) {
    if (!(plan instanceof LogicalRelation)) return false;
    LogicalRelation relation = (LogicalRelation) plan;
    if (!(relation.relation() instanceof HadoopFsRelation)) return false;
    return ((HadoopFsRelation) relation.relation()).options().contains(BY_BUCKET);
  }

  /** Sets the option on the relations of Hive tables. */
  private static final class Marking extends AbstractPartialFunction {
    private final SparkSession session;

    Marking(SparkSession session) {
      this.session = session;
    }

    public boolean isDefinedAt(Object plan) {
      if (!(plan instanceof LogicalRelation) || isByBucket(plan)) return false;
      Object relation = ((LogicalRelation) plan).relation();
      return relation instanceof HadoopFsRelation && ((HadoopFsRelation) relation).location() instanceof HiveTableIndex;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      if (!isDefinedAt(plan)) return otherwise.apply(plan);
      LogicalRelation relation = (LogicalRelation) plan;
      HadoopFsRelation files = (HadoopFsRelation) relation.relation();
      HadoopFsRelation marked = new HadoopFsRelation(
          files.location(), files.partitionSchema(), files.dataSchema(), files.bucketSpec(), files.fileFormat(),
          (Map) files.options().updated(BY_BUCKET, "true"), session);
      return SparkVersions.newInstance(LogicalRelation.class, marked, relation.output(), relation.catalogTable(), false);
    }
  }

  /**
   * Plans relations with the option: as Spark does, but with a scan by bucket instead of the file scan, if possible.
   */
  private static final class Strategy extends SparkStrategy {
    private final BucketScan scans;

    Strategy(BucketScan scans) {
      this.scans = scans;
    }

    public Seq apply(LogicalPlan plan) {
      LogicalPlan leaf = plan;
      while (leaf instanceof Project || leaf instanceof Filter) leaf = (LogicalPlan) leaf.children().apply(0);
      if (!isByBucket(leaf)) return Scala.seq();
      List<Object> planned = new ArrayList<>();
      for (SparkPlan each : Scala.list(FileSourceStrategy$.MODULE$.apply(plan))) {
        planned.add(each.transformUp(new Replacement(scans)));
      }
      return Scala.seq(planned);
    }
  }

  private static final class Replacement extends AbstractPartialFunction {
    private final BucketScan scans;

    Replacement(BucketScan scans) {
      this.scans = scans;
    }

    public boolean isDefinedAt(Object plan) {
      return plan instanceof FileSourceScanExec;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      if (!isDefinedAt(plan)) return otherwise.apply(plan);
      SparkPlan rows = scans.rows((FileSourceScanExec) plan);
      return rows == null ? plan : rows;
    }
  }
}
