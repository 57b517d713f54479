package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ParameterizedQuery;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CreateTable;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * An early rule: df.writeTo(…) and INSERT … REPLACE WHERE become INSERT, MERGE INTO and CREATE TABLE AS SELECT.
 *
 * Spark rejects them for the tables of its session catalog.
 */
public final class ResolveV2Writes extends Rule {
  /** A property of a new table that tells CREATE TABLE AS SELECT to replace an existing table. */
  private static final String REPLACES = "spark_client.replaces";
  /** Properties of a dependent table: that it is one, and the tables on which it depends. */
  static final String DEPENDENT = "dependent.table", BASES = "dependent.on";

  private final SparkSession session;

  public ResolveV2Writes(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    if (plan.containsPattern(TreePattern.UNRESOLVED_RELATION())) plan.exists(new StreamingReads(this));
    if (plan instanceof ParameterizedQuery) { // Spark 4.0 binds its parameters later
      return plan.withNewChildren(Scala.seq(apply((TreeNode) ((ParameterizedQuery) plan).child())));
    }
    CatalogTable table = table(plan);
    if (plan instanceof ReplaceTableAsSelect) return createTable((ReplaceTableAsSelect) plan);
    if (plan instanceof CreateTable) return table == null ? plan : append((CreateTable) plan, table);
    if (plan instanceof InsertIntoStatement) return replaceWhere((InsertIntoStatement) plan, table);
    if (!(plan instanceof V2WriteCommand)) return plan;
    V2WriteCommand write = (V2WriteCommand) plan;
    if (!((Object) write.table() instanceof UnresolvedRelation)) return plan;
    UnresolvedRelation target = (UnresolvedRelation) (Object) write.table();
    if (table == null) return plan;
    if (plan instanceof AppendData) return insert(target, write, false);
    if (plan instanceof OverwritePartitionsDynamic) return insert(dynamic(target), write, true);
    if (!(plan instanceof OverwriteByExpression)) return plan;
    return ReplaceWhere.of(target, write.query(), write.isByName(), ((OverwriteByExpression) plan).deleteExpr());
  }

  /**
   * The target table, or null if it does not consist of files: other libraries handle theirs. Rejects dependent tables.
   */
  private CatalogTable table(TreeNode plan) {
    Object target = null;
    if (plan instanceof InsertIntoStatement) target = ((InsertIntoStatement) plan).table();
    if (plan instanceof V2WriteCommand) target = ((V2WriteCommand) plan).table();
    TableIdentifier name = null;
    if (target instanceof UnresolvedRelation) name = identifier(((UnresolvedRelation) target).multipartIdentifier());
    if (plan instanceof CreateTable && ((CreateTable) plan).mode().name().equals("Append")) {
      name = ((CreateTable) plan).tableDesc().identifier();
    }
    CatalogTable table = lookup(name);
    if (table != null && table.properties().contains(DEPENDENT)) {
      RowChanges.reject(
          RowChanges.name(table.identifier()) + " is a dependent table and has no data of its own; write to "
              + table.properties().apply(BASES));
    }
    return table != null && DatasourceTables.isFileTable(table) ? table : null;
  }

  /** Rejects streaming reads of Hive tables. Spark's own error is about files. */
  private static final class StreamingReads extends AbstractFunction1 {
    private final ResolveV2Writes rule;

    StreamingReads(ResolveV2Writes rule) {
      this.rule = rule;
    }

    public Object apply(Object node) {
      if (!(node instanceof UnresolvedRelation) || !((UnresolvedRelation) node).isStreaming()) return false;
      CatalogTable table = rule.lookup(rule.identifier(((UnresolvedRelation) node).multipartIdentifier()));
      if (table == null) return false;
      boolean dependent = table.properties().contains(DEPENDENT);
      boolean isHiveTable = DatasourceTables.isFileTable(table) && table.provider().equals(Option.apply("hive"));
      if (!dependent && !isHiveTable) return false;
      RowChanges.reject(
          RowChanges.name(table.identifier()) + " cannot be read as a stream: Spark has no streaming source for "
              + (dependent ? "dependent" : "Hive") + " tables. Read it with spark.table(…) in foreachBatch of another "
              + "stream, such as format('rate')");
      return true;
    }
  }

  private static LogicalPlan insert(UnresolvedRelation target, V2WriteCommand write, boolean overwrite) {
    return (LogicalPlan) SparkVersions.newInstance(
        InsertIntoStatement.class, target, Map$.MODULE$.empty(), Scala.seq(), write.query(), overwrite, false,
        write.isByName());
  }

  /** The target with dynamic partition overwrite, regardless of the session's mode. */
  private static UnresolvedRelation dynamic(UnresolvedRelation target) {
    Map<String, String> options = new HashMap<>();
    options.putAll(target.options().asCaseSensitiveMap());
    options.put("partitionOverwriteMode", "dynamic");
    return new UnresolvedRelation(target.multipartIdentifier(), new CaseInsensitiveStringMap(options), target.isStreaming());
  }

  /** INSERT … REPLACE WHERE. It is a separate write command before Spark 4.2, and a part of INSERT since then. */
  private static LogicalPlan replaceWhere(InsertIntoStatement insert, CatalogTable table) {
    Expression condition = null;
    for (int i = 0; i < insert.productArity(); i++) {
      Object each = insert.productElement(i);
      Object part = each instanceof Option && ((Option) each).isDefined() ? ((Option) each).get() : null;
      if (part == null || !part.getClass().getSimpleName().equals("InsertReplaceWhere")) continue;
      condition = (Expression) ((Product) part).productElement(0);
    }
    boolean plain = (Object) insert.table() instanceof UnresolvedRelation && insert.userSpecifiedCols().isEmpty();
    if (condition == null || !plain || table == null) return insert;
    return ReplaceWhere.of(insert.table(), insert.query(), insert.byName(), condition);
  }

  /** CREATE TABLE AS SELECT with a property that says whether the table may or must exist. */
  private LogicalPlan createTable(ReplaceTableAsSelect plan) {
    if (!(plan.name() instanceof UnresolvedIdentifier)) return plan;
    TableIdentifier name = identifier(((UnresolvedIdentifier) plan.name()).nameParts());
    if (name == null) return plan;
    TreeNode spec = (TreeNode) (Object) plan.tableSpec();
    Object[] parts = new Object[spec.productArity()];
    for (int i = 0; i < parts.length; i++) parts[i] = spec.productElement(i);
    parts[0] = ((scala.collection.immutable.Map) parts[0]).updated(REPLACES, plan.orCreate() ? "or creates" : "yes");
    return (LogicalPlan) SparkVersions.newInstance(
        CreateTableAsSelect.class, plan.name(), plan.partitioning(), plan.query(), spec.makeCopy(parts),
        plan.writeOptions(), false, false);
  }

  /** saveAsTable in append mode. Without an explicit format, the format is the table's, also for Hive tables. */
  private TreeNode append(CreateTable plan, CatalogTable table) {
    CatalogTable declared = plan.tableDesc();
    boolean isDefault = declared.provider().equals(Option.apply(session.sessionState().conf().defaultDataSourceName()));
    if (!isDefault && !declared.provider().equals(Option.apply(DatasourceTables.format(table)))) return plan;
    Object[] parts = new Object[declared.productArity()];
    for (int i = 0; i < parts.length; i++) {
      Object part = declared.productElement(i);
      parts[i] = part == declared.provider() ? table.provider() : part;
    }
    try {
      Object definition = CatalogTable.class.getConstructors()[0].newInstance(parts);
      return (LogicalPlan) SparkVersions.newInstance(CreateTable.class, definition, plan.mode(), plan.query());
    } catch (ReflectiveOperationException failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  /** The table or view with this name in the catalog, or null. */
  private CatalogTable lookup(TableIdentifier name) {
    if (name == null || session.sessionState().catalog().isTempView(name)) return null;
    try {
      return session.sessionState().catalog().getTableMetadata(name);
    } catch (Exception missing) {
      return null; // Spark reports the error
    }
  }

  /** The table identifier of a name, or null if the name belongs to another catalog. */
  private TableIdentifier identifier(Seq parts) {
    List names = Scala.list(parts);
    String current = session.sessionState().catalogManager().currentCatalog().name();
    if (names.size() == 3 && "spark_catalog".equals(names.get(0))) names = names.subList(1, 3);
    else if (!"spark_catalog".equals(current)) return null;
    if (names.size() == 1) return new TableIdentifier((String) names.get(0));
    if (names.size() != 2) return null;
    boolean exists = session.sessionState().catalog().databaseExists((String) names.get(0));
    return exists ? new TableIdentifier((String) names.get(1), Option.apply(names.get(0))) : null;
  }
}
