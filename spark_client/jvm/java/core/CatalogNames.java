package spark_client.core;

import java.util.List;
import java.util.regex.Pattern;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function1;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * An early rule: hive.db.t, as Doris and Trino name metastore tables, is a table of the session catalog.
 *
 * It does not apply if Spark has a catalog of that name.
 */
public final class CatalogNames extends Rule {
  private static final String SETTING = "catalog.name";
  private static final String DEFAULT = "hive";
  private static final Pattern NAMES =
      Pattern.compile("Unresolved(?:Relation|Table|View|TableOrView|Identifier|Namespace)");

  private final SparkSession session;

  public CatalogNames(SparkSession session) {
    this.session = session;
  }

  /** Applies the rule to the plan of a statement that is parsed after the early rules have run. */
  static LogicalPlan resolve(Object session, LogicalPlan plan) {
    return (LogicalPlan) new CatalogNames((SparkSession) session).apply(plan);
  }

  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).resolveOperatorsDown(new Named(session));
  }

  /** A name with `spark_catalog` as its catalog, or the same name if it has another catalog or number of parts. */
  static Seq sessionCatalogName(SparkSession session, Seq parts, int size) {
    if (parts.size() != size) return parts;
    String first = (String) parts.apply(0);
    if (!first.equalsIgnoreCase(session.sessionState().conf().getConfString(SETTING, DEFAULT))) return parts;
    if (session.sessionState().conf().contains("spark.sql.catalog." + first)) return parts;
    List<Object> names = Scala.list(parts);
    names.set(0, "spark_catalog");
    return Scala.seq(names);
  }

  /** Replaces names in nodes, including nodes that are not children, such as the target of an INSERT. */
  private static final class Named extends AbstractPartialFunction {
    private final SparkSession session;

    Named(SparkSession session) {
      this.session = session;
    }

    public boolean isDefinedAt(Object node) {
      if (node(node) != node) return true;
      Product product = (Product) node;
      for (int i = 0; i < product.productArity(); i++) {
        if (part(node, product.productElement(i)) != product.productElement(i)) return true;
      }
      return false;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      if (node(node) != node) return node(node);
      Object[] parts = new Object[((Product) node).productArity()];
      for (int i = 0; i < parts.length; i++) parts[i] = part(node, ((Product) node).productElement(i));
      return ((TreeNode) node).makeCopy(parts);
    }

    /** A part of a node. The new name of a renamed table may have at most two parts. */
    private Object part(Object node, Object part) {
      if (!(part instanceof Seq) || !node.getClass().getSimpleName().equals("RenameTable")) return node(part);
      Seq replaced = sessionCatalogName(session, (Seq) part, 3);
      return replaced == part ? part : Scala.seq(Scala.list(replaced).subList(1, 3));
    }

    /** The node with the replaced name, or the same node. */
    private Object node(Object node) {
      if (!(node instanceof TreeNode) || !NAMES.matcher(node.getClass().getSimpleName()).matches()) return node;
      TreeNode named = (TreeNode) node;
      Object name = named.productElement(0);
      if (!(name instanceof Seq)) return node;
      Seq replaced = sessionCatalogName(session, (Seq) name, node.getClass().getSimpleName().endsWith("Namespace") ? 2 : 3);
      if (replaced == name) return node;
      Object[] parts = new Object[named.productArity()];
      parts[0] = replaced;
      for (int i = 1; i < parts.length; i++) parts[i] = named.productElement(i);
      return named.makeCopy(parts);
    }
  }
}
