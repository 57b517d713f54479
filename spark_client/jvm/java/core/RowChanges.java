package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.JoinType$;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.DeleteAction;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.sql.execution.datasources.ApplyCharTypePadding$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/** The parts of a resolved DELETE, UPDATE or MERGE INTO that are sent to Python. */
final class RowChanges {
  private final List<Map> clauses = new ArrayList<>();
  private final List<List> expressions = new ArrayList<>();
  private final LogicalPlan target;
  private LogicalPlan source;
  private Expression condition;

  private RowChanges(LogicalPlan target) {
    this.target = target;
  }

  /** The table whose rows a statement changes, or null. Rejects views and tables that this library does not write. */
  static CatalogTable table(Object plan) {
    LogicalPlan target = target(plan);
    if (target == null || !AssignedValues.withoutCasts((LogicalPlan) plan).resolved()) return null;
    while (target instanceof SubqueryAlias) target = ((SubqueryAlias) target).child();
    if (target instanceof View && !target.exists(new OfAnotherLibrary())) reject((View) target);
    if (target instanceof HiveTableRelation) reject(((HiveTableRelation) target).tableMeta());
    if (!(target instanceof LogicalRelation)) return null;
    LogicalRelation relation = (LogicalRelation) target;
    if (!(relation.relation() instanceof HadoopFsRelation) || relation.catalogTable().isEmpty()) return null;
    CatalogTable table = (CatalogTable) relation.catalogTable().get();
    if (((HadoopFsRelation) relation.relation()).location() instanceof HiveTableIndex) return table;
    if (DatasourceTables.isFileTable(table)) reject(table);
    return null;
  }

  static String name(TableIdentifier name) {
    return (name.database().isDefined() ? name.database().get() + "." : "") + name.table();
  }

  private static void reject(View view) {
    reject(name(view.desc().identifier()) + " is a view: change the rows of the table that it reads");
  }

  private static void reject(CatalogTable table) {
    String kind = "USING " + table.provider().get();
    if (kind.equals("USING hive")) {
      String format = (String) table.storage().inputFormat().get();
      kind = "stored as " + format.substring(format.lastIndexOf('.') + 1);
    }
    if (table.bucketSpec().isDefined()) kind += " with buckets";
    reject(
        name(table.identifier()) + " is a table " + kind + ": DELETE, UPDATE, MERGE INTO and REPLACE WHERE need "
            + "a Parquet or ORC table that spark_client writes; use INSERT OVERWRITE instead");
  }

  private static LogicalPlan target(Object plan) {
    if (plan instanceof DeleteFromTable) return ((DeleteFromTable) plan).table();
    if (plan instanceof UpdateTable) return ((UpdateTable) plan).table();
    return plan instanceof MergeIntoTable ? ((MergeIntoTable) plan).targetTable() : null;
  }

  /** The name of the statement in EXPLAIN. */
  static String name(Object plan) {
    return plan instanceof DeleteFromTable ? "DELETE" : plan instanceof UpdateTable ? "UPDATE" : "MERGE";
  }

  /** Splits a statement into the parts that Python needs. */
  static RowChanges of(Object statement, CatalogTable table, SparkSession session) {
    LogicalPlan given = AssignedValues.withoutCasts((LogicalPlan) statement);
    if (given instanceof MergeIntoTable) checkSchemaEvolution((MergeIntoTable) given);
    LogicalPlan aligned = ReplaceWhere.is(given)
        ? ReplaceWhere.withInsert((MergeIntoTable) given, table, session)
        : given instanceof DeleteFromTable ? given : AssignedValues.aligned(given, target(given), table);
    // Spark pads CHAR(n) values when a plan is read, which changes their columns. So the whole statement is padded.
    Object plan = ApplyCharTypePadding$.MODULE$.apply(CurrentTime.fixed(aligned));
    RowChanges changes = new RowChanges(target(plan));
    if (plan instanceof DeleteFromTable) {
      changes.add("matched", Option.apply(((DeleteFromTable) plan).condition()), null, null);
    } else if (plan instanceof UpdateTable) {
      UpdateTable update = (UpdateTable) plan;
      changes.add("matched", update.condition(), ((UpdateTable) given).assignments(), update.assignments());
    } else {
      MergeIntoTable asked = (MergeIntoTable) (ReplaceWhere.is(given) ? aligned : given);
      MergeIntoTable merge = (MergeIntoTable) plan;
      changes.source = merge.sourceTable();
      changes.condition = merge.mergeCondition();
      if (Literal$.MODULE$.FalseLiteral().equals(changes.condition)) changes.condition = null;
      changes.add("matched", asked.matchedActions(), merge.matchedActions());
      changes.add("not_matched", asked.notMatchedActions(), merge.notMatchedActions());
      changes.add("not_matched_by_source", asked.notMatchedBySourceActions(), merge.notMatchedBySourceActions());
    }
    return changes;
  }

  private static void checkSchemaEvolution(MergeIntoTable merge) {
    for (int i = 0; i < merge.productArity(); i++) {
      // WITH SCHEMA EVOLUTION is the only boolean of the node, since Spark 4.0.
      if (Boolean.TRUE.equals(merge.productElement(i))) {
        reject("MERGE WITH SCHEMA EVOLUTION is not supported: add columns with ALTER TABLE … ADD COLUMNS");
      }
    }
  }

  /** The {clauses}: when each one acts, whether it deletes, and the columns that it assigns. */
  Map request() {
    Map<String, Object> request = new HashMap<>();
    request.put("clauses", clauses);
    return request;
  }

  /**
   * The target, the source or null, the condition under which they match (null: never), and for each clause its
   * condition or null and its values.
   */
  List objects() {
    List<Object> objects = new ArrayList<>();
    objects.add(target);
    objects.add(source);
    objects.add(condition);
    objects.add(expressions);
    return objects;
  }

  /** The queries that find the rows, for EXPLAIN: the rows of the table that change, or the join with the source. */
  List queries() {
    List<Object> queries = new ArrayList<>();
    if (source != null && condition != null) {
      queries.add(new Join(target, source, joinType(), Option.apply(condition), JoinHint$.MODULE$.NONE()));
      return queries;
    }
    if (source != null) queries.add(source);
    for (int i = 0; i < clauses.size(); i++) {
      if ("not_matched".equals(((Map) clauses.get(i)).get("when"))) continue;
      Expression clauseCondition = (Expression) ((List) expressions.get(i)).get(0);
      queries.add(clauseCondition == null ? target : new Filter(clauseCondition, target));
    }
    return queries;
  }

  private JoinType joinType() {
    boolean keepsTarget = false;
    boolean keepsSource = false;
    for (Map clause : clauses) {
      keepsTarget |= "not_matched_by_source".equals(clause.get("when"));
      keepsSource |= "not_matched".equals(clause.get("when"));
    }
    return JoinType$.MODULE$.apply(keepsTarget ? keepsSource ? "full" : "left" : keepsSource ? "right" : "inner");
  }

  /** `given`: the actions before Spark's rules assign to every column. */
  private void add(String when, Seq given, Seq actions) {
    List asked = Scala.list(given), resolved = Scala.list(actions);
    for (int i = 0; i < resolved.size(); i++) {
      MergeAction action = (MergeAction) resolved.get(i);
      add(when, action.condition(), assignments(asked.get(i)), assignments(action));
    }
  }

  private static Seq assignments(Object action) {
    if (action instanceof DeleteAction) return null;
    return action instanceof UpdateAction ? ((UpdateAction) action).assignments() : ((InsertAction) action).assignments();
  }

  private void add(String when, Option clauseCondition, Seq given, Seq assignments) {
    List<Expression> values = new ArrayList<>();
    values.add(clauseCondition.isDefined() ? (Expression) clauseCondition.get() : null);
    List<String> columns = new ArrayList<>();
    if (assignments != null) {
      Set names = AssignedValues.columns(given);
      for (Assignment assignment : Scala.list(assignments)) {
        String column = ((Attribute) assignment.key()).name();
        if (!names.contains(column.toLowerCase())) continue;
        columns.add(column);
        values.add(assignment.value());
      }
    }
    Map<String, Object> clause = new HashMap<>();
    clause.put("when", when);
    clause.put("deletes", assignments == null);
    clause.put("columns", columns);
    clauses.add(clause);
    expressions.add(values);
  }

  static void reject(String text) {
    Platform.throwException(new QueryExecutionException(text, null));
  }

  /** Finds tables of other libraries, which may be changed through views. */
  private static final class OfAnotherLibrary extends AbstractFunction1 {
    public Object apply(Object node) {
      return node instanceof NamedRelation;
    }
  }
}
