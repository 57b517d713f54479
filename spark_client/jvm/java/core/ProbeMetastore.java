package spark_client.core;

import java.util.HashMap;
import java.util.regex.Pattern;

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * A rule that is applied before the analyzer asks the catalog: where no metastore answers, Python says so in one line.
 * Hive's own client would try for long, and say that it cannot be instantiated.
 */
public final class ProbeMetastore extends Rule {
  /** What the catalog is asked for. */
  private static final Pattern NAMES =
      Pattern.compile("(?:Unresolved(?:Relation|Table|View|TableOrView|Identifier|Namespace)|CurrentNamespace\\$?)");

  /** Nanoseconds: a statement is analyzed in several passes, and asked for in one of them. */
  private static final long RECENTLY = 50000000L;

  private final SparkSession session;
  private final Python python;
  /** When it answered last. */
  private volatile long answered = System.nanoTime() - RECENTLY;

  public ProbeMetastore(SparkSession session, Python python) {
    this.session = session;
    this.python = python;
  }

  public TreeNode apply(TreeNode plan) {
    if (System.nanoTime() - answered < RECENTLY || !((LogicalPlan) plan).exists(new Asks())) return plan;
    python.ask("probe", null, new HashMap<>(), null);
    answered = System.nanoTime();
    return plan;
  }

  /** Nodes with a name that is neither that of a temporary view, nor of a table in another catalog. */
  private final class Asks extends AbstractFunction1 {
    public Object apply(Object node) {
      if (node instanceof InsertIntoStatement) return apply(((InsertIntoStatement) node).table());
      if (!NAMES.matcher(node.getClass().getSimpleName()).matches()) return false;
      if (!(node instanceof UnresolvedRelation)) return true;
      Seq name = ((UnresolvedRelation) node).multipartIdentifier();
      return name.size() < 3 && !session.sessionState().catalog().isTempView(name);
    }
  }
}
