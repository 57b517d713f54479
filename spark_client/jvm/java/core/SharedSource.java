package spark_client.core;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.Dataset;
import scala.Function1;
import scala.Product;
import scala.collection.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * The source of FROM … INSERT … INSERT …: in Hive, all INSERTs read the same rows.
 *
 * Spark parses such a statement into a union in which each INSERT has the source. It resolves and reads each of them
 * separately, so that the INSERTs see other rows if the source has other rows each time.
 */
public final class SharedSource {
  private static final TreeNodeTag MARK = new TreeNodeTag("spark_client.shared_source");

  /** Marks the sources in a plan that has just been parsed. Rules that replace a node keep its mark. */
  static LogicalPlan marked(LogicalPlan parsed) {
    mark(parsed);
    return parsed;
  }

  private static void mark(Object part) {
    if (part instanceof Seq) {
      for (Object each : Scala.list((Seq) part)) mark(each);
    } else if (part instanceof Union) {
      markSource(Scala.list(((Union) part).children()));
    } else if (part instanceof UnresolvedWith || part != null && mayHoldStatements(part.getClass().getSimpleName())) {
      for (int i = 0; i < ((Product) part).productArity(); i++) mark(((Product) part).productElement(i));
    }
  }

  /** Whether a node is EXPLAIN, a script or a part of one. */
  private static boolean mayHoldStatements(String node) {
    return node.equals("ExplainCommand") || node.equals("CompoundBody") || node.endsWith("Statement");
  }

  private static void markSource(List inserts) {
    List<Object> queries = new ArrayList<>();
    for (Object insert : inserts) {
      if (!(insert instanceof InsertIntoStatement)) return;
      queries.add(below(((InsertIntoStatement) insert).query()));
    }
    for (Object node : (List) queries.get(0)) {
      boolean isShared = true;
      for (Object others : queries) isShared &= holds((List) others, node);
      if (!isShared) continue;
      ((LogicalPlan) node).setTagValue(MARK, true);
      return;
    }
  }

  /** Whether the very node is in the list, not an equal one. */
  private static boolean holds(List nodes, Object node) {
    for (Object each : nodes) if (each == node) return true;
    return false;
  }

  /** The node and all nodes below it, from top to bottom. */
  private static List below(LogicalPlan plan) {
    List<Object> nodes = new ArrayList<>();
    nodes.add(plan);
    for (Object child : Scala.list(plan.children())) nodes.addAll(below((LogicalPlan) child));
    return nodes;
  }

  /** The marked node of a resolved query, or null. Of several, it is the lowest: rules may put nodes above it. */
  private static LogicalPlan find(LogicalPlan query) {
    LogicalPlan found = null;
    for (Object node : below(query)) if (((LogicalPlan) node).getTagValue(MARK).isDefined()) found = (LogicalPlan) node;
    return found;
  }

  /** The source that all queries (Datasets) read, in the form of the first one, or null. */
  public LogicalPlan of(List queries) {
    LogicalPlan first = null;
    for (Object query : queries) {
      LogicalPlan source = find(plan(query));
      if (source == null) return null;
      if (first == null) first = source;
      if (!first.schema().equals(source.schema())) return null;
    }
    return first;
  }

  /** The plans of the queries with these rows as their source. */
  public List over(List queries, Dataset rows) {
    List<Object> replaced = new ArrayList<>();
    for (Object query : queries) {
      LogicalPlan source = find(plan(query));
      LogicalPlan stored = renamed(plan(rows), Scala.list(source.output()));
      replaced.add(plan(query).transformDown(new Replacement(source, stored)));
    }
    return replaced;
  }

  private static LogicalPlan plan(Object query) {
    return ((Dataset) query).queryExecution().analyzed();
  }

  /** The rows with these columns, which queries recognize by their ids. */
  private static LogicalPlan renamed(LogicalPlan rows, List columns) {
    List<Object> own = Scala.list(rows.output()), named = new ArrayList<>();
    for (int i = 0; i < own.size(); i++) {
      Attribute column = (Attribute) columns.get(i);
      named.add(SparkVersions.newInstance(
          Alias.class, own.get(i), column.name(), column.exprId(), column.qualifier(), Scala.seq()));
    }
    return new Project(Scala.seq(named), rows);
  }

  private static final class Replacement extends AbstractPartialFunction {
    private final LogicalPlan source;
    private final LogicalPlan stored;

    Replacement(LogicalPlan source, LogicalPlan stored) {
      this.source = source;
      this.stored = stored;
    }

    public boolean isDefinedAt(Object node) {
      return node == source;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? stored : otherwise.apply(node);
    }
  }
}
