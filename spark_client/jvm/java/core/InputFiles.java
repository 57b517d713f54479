package spark_client.core;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.DataSourceUtils$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Function1;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * An optimizer rule: tells the index of a table the partition filters of its scan, for Dataset.inputFiles.
 *
 * Spark's PruneFileSourcePartitions does so for tables that Spark reads. Scans get the filters when they list files.
 */
public final class InputFiles extends Rule {
  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).transform(new Filtered());
  }

  private static final class Filtered extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof Filter && files(((Filter) node).child()) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      Filter filter = (Filter) node;
      LogicalRelation relation = (LogicalRelation) filter.child();
      HadoopFsRelation files = files(relation);
      Seq filters = partitionFilters(filter.condition(), relation, files);
      if (filters.isEmpty()) return node;
      HadoopFsRelation filtered = new HadoopFsRelation(
          ((HiveTableIndex) files.location()).withInputFilters(filters), files.partitionSchema(), files.dataSchema(),
          files.bucketSpec(), files.fileFormat(), files.options(), files.sparkSession());
      Object scan = SparkVersions.newInstance(
          LogicalRelation.class, filtered, relation.output(), relation.catalogTable(), relation.isStreaming());
      return new Filter(filter.condition(), (LogicalPlan) scan);
    }

    /** The files of a table that this library reads, or null. */
    private static HadoopFsRelation files(Object plan) {
      if (!(plan instanceof LogicalRelation)) return null;
      Object relation = ((LogicalRelation) plan).relation();
      boolean known = relation instanceof HadoopFsRelation
          && ((HadoopFsRelation) relation).location() instanceof HiveTableIndex;
      return known ? (HadoopFsRelation) relation : null;
    }

    private static Seq partitionFilters(Expression condition, LogicalRelation relation, HadoopFsRelation files) {
      List<Expression> known = new ArrayList<>();
      for (Expression each : Scala.list(DataSourceStrategy$.MODULE$.splitConjunctivePredicates(condition))) {
        if (each.deterministic() && !each.exists(new PartitionFilters.Dynamic())) known.add(each);
      }
      Seq named = (Seq) DataSourceStrategy$.MODULE$.normalizeExprs(Scala.seq(known), relation.output());
      Tuple2 filters = DataSourceUtils$.MODULE$.getPartitionFiltersAndDataFilters(files.partitionSchema(), named);
      return (Seq) filters._1();
    }
  }
}
