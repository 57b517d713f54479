package spark_client.core;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The current time in statements that run several queries.
 *
 * Spark replaces functions such as current_timestamp() when it optimizes a query, so that each query has another time.
 */
final class CurrentTime {
  private CurrentTime() {}

  /**
   * The statement with the time of now in its own expressions. Its children are unchanged: Spark would not recognize
   * them as cached queries.
   */
  static LogicalPlan fixed(LogicalPlan statement) {
    if (!statement.containsPattern(TreePattern.CURRENT_LIKE())) return statement;
    List children = Scala.list(statement.children());
    List<Object> none = new ArrayList<>();
    for (int i = 0; i < children.size(); i++) none.add(new OneRowRelation());
    LogicalPlan alone = (LogicalPlan) statement.withNewChildren(Scala.seq(none));
    LogicalPlan fixed = (LogicalPlan) ComputeCurrentTime$.MODULE$.apply(alone);
    return (LogicalPlan) fixed.withNewChildren(Scala.seq(children));
  }

  /** The queries of one statement with the same time. They are unchanged if some of them may be cached. */
  static List fixed(SparkSession session, List queries) {
    LogicalPlan all = (LogicalPlan) SparkVersions.newInstance(Union.class, Scala.seq(queries));
    if (queries.size() < 2 || !all.containsPattern(TreePattern.CURRENT_LIKE())) return queries;
    if (!session.sharedState().cacheManager().isEmpty()) return queries;
    return Scala.list(((LogicalPlan) ComputeCurrentTime$.MODULE$.apply(all)).children());
  }
}
