package spark_client.core;

import java.net.URI;
import java.util.Arrays;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SerdeInfo;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.unsafe.Platform;
import scala.Option;

/**
 * Rejects statements that would bypass the metastore's rights, in a driver that serves one of several users: access to
 * files that belong to no table, and code of the user in the driver's JVM. Does nothing without {@link #SETTING}.
 *
 * It runs before names are resolved and after. The plan of a statement is rejected before any of it is executed.
 */
public final class RestrictedDriver extends Rule {
  /** The value of an option of this library's own jobs, which write files before they publish them. */
  public static final String KEY = UUID.randomUUID().toString();

  private static final String SETTING = "spark.metastore.restricted";
  private static final String VARIABLE = "${";
  private static final Set REFLECTION = new HashSet(Arrays.asList("reflect", "java_method", "try_reflect"));
  /** Simple names of plans that read or write files by their path. */
  private static final Set FILES = new HashSet(Arrays.asList(
      "LoadData", "LoadDataCommand", "InsertIntoDir", "InsertIntoDataSourceDirCommand", "InsertIntoHiveDirCommand",
      "SaveIntoDataSourceCommand", "CreateTempViewUsing", "UnresolvedDataSource"));
  /** Simple names of plans that load code or start programs. */
  private static final Set CODE = new HashSet(Arrays.asList(
      "AddJarCommand", "AddJarsCommand", "AddFileCommand", "AddFilesCommand", "AddArchiveCommand",
      "AddArchivesCommand", "CreateFunction", "CreateFunctionCommand", "ScriptTransformation"));
  private static final Set STREAMS = new HashSet(Arrays.asList(
      "StreamingRelation", "StreamingRelationV2", "StreamingDataSourceV2Relation", "WriteToStream",
      "WriteToStreamStatement"));
  /** Simple names of plans that create tables without rows. */
  private static final Set NEW_TABLES = new HashSet(Arrays.asList("CreateTable", "ReplaceTable"));
  /** Formats of tables. Other data sources reach other systems, or load the class that the statement names. */
  private static final Set FORMATS =
      new HashSet(Arrays.asList("parquet", "orc", "csv", "json", "text", "avro", "xml", "hive"));
  /** Simple names of expressions that call methods of classes which the statement or the metastore names. */
  private static final Set EXPRESSIONS = new HashSet(Arrays.asList(
      "CallMethodViaReflection", "TryReflect", "HiveSimpleUDF", "HiveGenericUDF", "HiveGenericUDTF",
      "HiveUDAFFunction", "ScalaUDF", "ScalaUDAF", "ScalaAggregator"));
  /** Beginnings of the simple names of plans that define a table or its properties. */
  private static final List DEFINITIONS = Arrays.asList("Create", "Replace", "Alter", "Set");

  private final SparkSession session;
  private final boolean isOn;

  public RestrictedDriver(SparkSession session) {
    this.session = session;
    this.isOn = session.sparkContext().conf().getBoolean(SETTING, false);
    if (isOn) FixedSettings.enforce(session.sparkContext().conf());
    if (isOn) NoSchemas.enforce();
  }

  public TreeNode apply(TreeNode plan) {
    if (isOn) {
      SessionSettings.protect(session);
      SessionSettings.checkView(session);
      check((LogicalPlan) plan);
    }
    return plan;
  }

  /**
   * Rejects variables in a text. Spark replaces ${env:…} and ${system:…} by values of the driver's process, such as the
   * credentials of the storage, and ${name} by a setting, which may be such a text.
   */
  static void checkText(SparkSession session, String text) {
    if (text.contains(VARIABLE) && session.sparkContext().conf().getBoolean(SETTING, false)) {
      reject("a variable (" + VARIABLE + "…})");
    }
  }

  /**
   * Rejects properties of a table and options of a statement that Hadoop would use as settings: Spark and Hive copy them
   * into its configuration, which replaces ${name} by any other setting, also by credentials. `isNew`: the statement
   * defines them. The metastore has checked the locations in those of tables that exist.
   */
  private static void checkProperties(Object part, boolean isNew) {
    if (part instanceof Option && ((Option) part).isDefined()) checkProperties(((Option) part).get(), isNew);
    if (part instanceof HadoopFsRelation) checkProperties(((HadoopFsRelation) part).options(), isNew);
    if (part instanceof CatalogStorageFormat) checkProperties(((CatalogStorageFormat) part).properties(), isNew);
    if (part instanceof CatalogTable) {
      checkProperties(((CatalogTable) part).properties(), isNew);
      checkProperties(((CatalogTable) part).storage(), isNew);
    }
    if (part instanceof TableSpecBase) {
      checkProperties(((TableSpecBase) part).properties(), isNew);
      checkProperties(((TableSpecBase) part).serde(), isNew);
    }
    if (part instanceof SerdeInfo) checkProperties(((SerdeInfo) part).serdeProperties(), isNew);
    if (part instanceof scala.collection.Map) part = Scala.map((scala.collection.Map) part);
    if (!(part instanceof Map) || ((Map) part).containsValue(KEY)) return;
    for (Object each : ((Map) part).entrySet()) {
      Object name = ((Map.Entry) each).getKey(), value = ((Map.Entry) each).getValue();
      if (!(name instanceof String && value instanceof String)) continue;
      if (((String) value).contains(VARIABLE)) reject("a variable in the property " + name);
      if (!HadoopNames.isProperty((String) name, isNew)) reject("the property " + name);
    }
  }

  private void check(LogicalPlan plan) {
    String name = plan.getClass().getSimpleName();
    boolean isDefinition = HadoopNames.startsWith(name, DEFINITIONS);
    for (int i = 0; i < plan.productArity(); i++) checkProperties(plan.productElement(i), isDefinition);
    if (isDefinition) checkFormat(plan);
    if (FILES.contains(name)) rejectFiles();
    if (CODE.contains(name)) reject("code in Spark's JVM (" + name + ")");
    if (STREAMS.contains(name)) reject("a stream");
    if (plan instanceof UnresolvedRelation) check((UnresolvedRelation) plan);
    if (plan instanceof LogicalRelation) check((LogicalRelation) plan);
    if (plan instanceof DataSourceV2Relation) check(((DataSourceV2Relation) plan).catalog());
    if (plan instanceof V2CreateTablePlan && NEW_TABLES.contains(name)) checkColumns((V2CreateTablePlan) plan);
    if (plan instanceof InsertIntoHadoopFsRelationCommand) check((InsertIntoHadoopFsRelationCommand) plan);
    if (plan instanceof UnresolvedTableValuedFunction) {
      checkFunction(Scala.list(((UnresolvedTableValuedFunction) plan).name()));
    }
    for (Object expression : Scala.list(plan.expressions())) check((Expression) expression);
    for (LogicalPlan part : parts(plan).keySet()) check(part);
  }

  /** The plans in a plan, each once. The target of a write is often not among the children. */
  private static Map<LogicalPlan, Boolean> parts(LogicalPlan plan) {
    Map<LogicalPlan, Boolean> parts = new IdentityHashMap<>();
    for (Object child : Scala.list(plan.children())) parts.put((LogicalPlan) child, true);
    for (Object child : Scala.list(plan.innerChildren())) addPlan(parts, child);
    for (int i = 0; i < plan.productArity(); i++) addPlan(parts, plan.productElement(i));
    return parts;
  }

  private static void addPlan(Map<LogicalPlan, Boolean> parts, Object part) {
    if (part instanceof LogicalPlan) parts.put((LogicalPlan) part, true);
  }

  /** Spark reads format.`path` as files, and lists them before it resolves other names. */
  private static void check(UnresolvedRelation relation) {
    List parts = Scala.list(relation.multipartIdentifier());
    String name = (String) parts.get(parts.size() - 1);
    if (parts.size() == 2 && (name.contains("/") || name.contains(":"))) rejectFiles();
  }

  private void check(Option catalog) {
    if (catalog.isEmpty()) rejectFiles();
    String name = ((CatalogPlugin) catalog.get()).name();
    if (!SessionSettings.isCatalogOfServer(session, name)) reject("the catalog " + name);
  }

  private void check(InsertIntoHadoopFsRelationCommand insert) {
    if (insert.catalogTable().isEmpty() && !Scala.map(insert.options()).containsValue(KEY)) rejectFiles();
    checkPath(insert.catalogTable(), insert.outputPath());
  }

  private static void checkFormat(LogicalPlan plan) {
    if (plan instanceof CreateTableLikeCommand) checkFormat(((CreateTableLikeCommand) plan).provider());
    for (int i = 0; i < plan.productArity(); i++) {
      Object part = plan.productElement(i);
      if (part instanceof TableSpecBase) checkFormat(((TableSpecBase) part).provider());
      if (part instanceof CatalogTable) checkFormat(((CatalogTable) part).provider());
    }
  }

  private static void checkFormat(Option provider) {
    if (provider.isDefined() && !FORMATS.contains(((String) provider.get()).toLowerCase(Locale.ROOT))) {
      reject("the data source " + provider.get());
    }
  }

  /** Spark reads missing columns from the files of the location, before the metastore checks the right to it. */
  private static void checkColumns(V2CreateTablePlan plan) {
    if (plan.tableSchema().isEmpty()) reject("CREATE TABLE without columns");
  }

  private void check(LogicalRelation relation) {
    if (relation.catalogTable().isEmpty()) rejectFiles();
    if (!(relation.relation() instanceof HadoopFsRelation)) {
      reject("the data source " + relation.relation().getClass().getSimpleName());
    }
    HadoopFsRelation files = (HadoopFsRelation) relation.relation();
    if (files.location() instanceof HiveTableIndex) return;
    for (Object root : Scala.list(files.location().rootPaths())) checkPath(relation.catalogTable(), (Path) root);
  }

  /**
   * Rejects files outside of a table. Spark ignores an option `path` of a statement, but not with other upper and lower
   * case: both names are then in one map, and Spark takes either value. It also keeps the relation in a cache.
   */
  private void checkPath(Option table, Path used) {
    if (table.isEmpty() || ((CatalogTable) table.get()).storage().locationUri().isEmpty()) return;
    Path location = new Path((URI) ((CatalogTable) table.get()).storage().locationUri().get());
    Configuration conf = session.sessionState().newHadoopConf();
    if (HiveTableIndex.qualified(used, conf).equals(HiveTableIndex.qualified(location, conf))) return;
    session.sessionState().catalog().invalidateCachedTable(((CatalogTable) table.get()).identifier());
    reject("an option that leads the table to other files");
  }

  private void check(Expression expression) {
    String name = expression.getClass().getSimpleName();
    for (int i = 0; i < expression.productArity(); i++) checkProperties(expression.productElement(i), true);
    if (EXPRESSIONS.contains(name)) reject("code in Spark's JVM (" + name + ")");
    if (expression instanceof UnresolvedFunction) check((UnresolvedFunction) expression);
    if (expression instanceof SubqueryExpression) check((LogicalPlan) ((SubqueryExpression) expression).plan());
    for (Object child : Scala.list(expression.children())) check((Expression) child);
  }

  private void check(UnresolvedFunction function) {
    // since 4.0 {
    if (function.isInternal()) return;
    // }
    checkFunction(Scala.list(function.nameParts()));
  }

  /** Functions in the metastore name classes or jars. */
  private void checkFunction(List parts) {
    String name = ((String) parts.get(parts.size() - 1)).toLowerCase(Locale.ROOT);
    if (REFLECTION.contains(name)) reject("the function " + name);
    SessionCatalog catalog = session.sessionState().catalog();
    boolean isOfSession = catalog.lookupBuiltinOrTempFunction(name).isDefined()
        || catalog.lookupBuiltinOrTempTableFunction(name).isDefined();
    boolean isQualified = parts.size() > 1 && !"builtin".equals(parts.get(parts.size() - 2))
        && !"session".equals(parts.get(parts.size() - 2));
    if (isQualified || !isOfSession) reject("the function " + name + ", which is not built in,");
  }

  private static void rejectFiles() {
    reject("data outside of tables");
  }

  static void reject(String what) {
    reject(what, "read and write tables; files named by a path, classes and programs would go around the metastore's "
        + "rights");
  }

  static void reject(String what, String hint) {
    Platform.throwException(
        new QueryExecutionException(what + " is not available on a server for several users: " + hint, null));
  }
}
