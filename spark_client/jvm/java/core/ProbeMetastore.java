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
 * An early rule: if no metastore answers, Python reports it in one line before the analyzer asks the catalog.
 *
 * Hive's own client would retry for long and report that it cannot be instantiated.
 */
public final class ProbeMetastore extends Rule {
  /** Nodes for which the analyzer asks the catalog. */
  private static final Pattern NAMES =
      Pattern.compile("(?:Unresolved(?:Relation|Table|View|TableOrView|Identifier|Namespace)|CurrentNamespace\\$?)");

  /** Nanoseconds between probes. A statement is analyzed in several passes, and one probe suffices for all. */
  private static final long INTERVAL = 50000000L;

  private final SparkSession session;
  private final Python python;
  /** The time of the last successful probe. */
  private volatile long lastAnswer = System.nanoTime() - INTERVAL;

  public ProbeMetastore(SparkSession session, Python python) {
    this.session = session;
    this.python = python;
  }

  public TreeNode apply(TreeNode plan) {
    if (System.nanoTime() - lastAnswer < INTERVAL || !((LogicalPlan) plan).exists(new CatalogLookups())) return plan;
    python.ask("probe", null, new HashMap<>(), null);
    lastAnswer = System.nanoTime();
    return plan;
  }

  /** Finds names that are neither temporary views nor in another catalog. */
  private final class CatalogLookups extends AbstractFunction1 {
    public Object apply(Object node) {
      if (node instanceof InsertIntoStatement) return apply(((InsertIntoStatement) node).table());
      if (!NAMES.matcher(node.getClass().getSimpleName()).matches()) return false;
      if (!(node instanceof UnresolvedRelation)) return true;
      Seq name = ((UnresolvedRelation) node).multipartIdentifier();
      return name.size() < 3 && !session.sessionState().catalog().isTempView(name);
    }
  }
}
