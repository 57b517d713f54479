package spark_client.core;

import java.net.URI;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecutionException;
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
  /** Options of formats that name a file, which Spark reads when it parses rows. */
  private static final Set FILE_OPTIONS = new HashSet(Arrays.asList("avroschemaurl", "rowvalidationxsdpath"));
  /** Simple names of expressions that call methods of classes which the statement or the metastore names. */
  private static final Set EXPRESSIONS = new HashSet(Arrays.asList(
      "CallMethodViaReflection", "TryReflect", "HiveSimpleUDF", "HiveGenericUDF", "HiveGenericUDTF",
      "HiveUDAFFunction", "ScalaUDF", "ScalaUDAF", "ScalaAggregator"));
  /** Settings of a session that load classes or start programs. Only the server may set them (also: FixedSettings). */
  private static final List SETTINGS = Arrays.asList(
      "spark.sql.catalog.", "spark.sql.execution.pyspark.", "spark.sql.extensions", "spark.sql.sources.commitProtocol",
      "spark.sql.sources.outputCommitter", "spark.sql.parquet.output.committer", "spark.sql.streaming.checkpoint",
      "spark.sql.defaultCatalog", "spark.hadoop.", "fs.", "hive.metastore.", "hive.exec.stagingdir",
      "mapreduce.outputcommitter", "mapred.output.committer");

  /** Beginnings of names of Hadoop's settings. */
  private static final List HADOOP = Arrays.asList(
      "fs.", "dfs.", "ipc.", "io.", "hadoop.", "mapred.", "mapreduce.", "yarn.", "viewfs.");

  private final SparkSession session;
  private final boolean isOn;

  public RestrictedDriver(SparkSession session) {
    this.session = session;
    this.isOn = session.sparkContext().conf().getBoolean(SETTING, false);
    if (isOn) FixedSettings.enforce(session.sparkContext().conf());
  }

  public TreeNode apply(TreeNode plan) {
    if (isOn) {
      checkSettings();
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

  private void checkSettings() {
    SparkConf fixed = session.sparkContext().conf();
    Map own = Scala.map(session.sessionState().conf().getAllConfs());
    for (Object entry : own.entrySet()) {
      String name = (String) ((Map.Entry) entry).getKey();
      String value = (String) ((Map.Entry) entry).getValue();
      if (value.equals(fixed.get(name, null))) continue;
      if (value.contains(VARIABLE)) reject("a variable in the setting " + name);
      boolean isReserved = isOfHadoop(name);
      for (Object prefix : SETTINGS) isReserved |= name.startsWith((String) prefix);
      if (isReserved && !value.equals(session.sparkContext().hadoopConfiguration().get(name))) {
        reject("the setting " + name);
      }
    }
  }

  /** Whether a name is a setting of Hadoop or its libraries that can load a class or lead to other files. */
  private static boolean isOfHadoop(String name) {
    if (name.startsWith("spark.") || name.startsWith("hive.server2.")) return false;
    for (Object prefix : HADOOP) if (name.startsWith((String) prefix)) return true;
    return name.endsWith(".class") || name.endsWith(".impl");
  }

  /**
   * Rejects properties of a table and options of a statement that Hadoop would use as settings: Spark and Hive copy them
   * into its configuration, which replaces ${name} by any other setting, also by credentials.
   */
  private static void checkProperties(Object part) {
    if (part instanceof Option && ((Option) part).isDefined()) checkProperties(((Option) part).get());
    if (part instanceof HadoopFsRelation) checkProperties(((HadoopFsRelation) part).options());
    if (part instanceof CatalogTable) {
      checkProperties(((CatalogTable) part).properties());
      checkProperties(((CatalogTable) part).storage().properties());
    }
    if (part instanceof scala.collection.Map) part = Scala.map((scala.collection.Map) part);
    if (!(part instanceof Map) || ((Map) part).containsValue(KEY)) return;
    for (Object each : ((Map) part).entrySet()) {
      Object name = ((Map.Entry) each).getKey(), value = ((Map.Entry) each).getValue();
      if (!(name instanceof String && value instanceof String)) continue;
      if (((String) value).contains(VARIABLE)) reject("a variable in the property " + name);
      boolean namesFile = FILE_OPTIONS.contains(((String) name).toLowerCase(Locale.ROOT));
      if (namesFile || isOfHadoop((String) name)) reject("the property " + name);
    }
  }

  private void check(LogicalPlan plan) {
    String name = plan.getClass().getSimpleName();
    for (int i = 0; i < plan.productArity(); i++) checkProperties(plan.productElement(i));
    if (FILES.contains(name)) rejectFiles();
    if (CODE.contains(name)) reject("code in Spark's JVM (" + name + ")");
    if (STREAMS.contains(name)) reject("a stream");
    if (plan instanceof UnresolvedRelation) check((UnresolvedRelation) plan);
    if (plan instanceof LogicalRelation) check((LogicalRelation) plan);
    if (plan instanceof DataSourceV2Relation && ((DataSourceV2Relation) plan).catalog().isEmpty()) rejectFiles();
    if (plan instanceof InsertIntoStatement) check(((InsertIntoStatement) plan).table());
    if (plan instanceof V2CreateTablePlan) checkFormat(plan);
    if (plan instanceof V2CreateTablePlan && NEW_TABLES.contains(name)) checkColumns((V2CreateTablePlan) plan);
    if (plan instanceof InsertIntoHadoopFsRelationCommand) check((InsertIntoHadoopFsRelationCommand) plan);
    if (plan instanceof UnresolvedTableValuedFunction) {
      checkFunction(Scala.list(((UnresolvedTableValuedFunction) plan).name()));
    }
    for (Object expression : Scala.list(plan.expressions())) check((Expression) expression);
    for (Object child : Scala.list(plan.children())) check((LogicalPlan) child);
    for (Object child : Scala.list(plan.innerChildren())) if (child instanceof LogicalPlan) check((LogicalPlan) child);
  }

  /** Spark reads format.`path` as files, and lists them before it resolves other names. */
  private static void check(UnresolvedRelation relation) {
    List parts = Scala.list(relation.multipartIdentifier());
    String name = (String) parts.get(parts.size() - 1);
    if (parts.size() == 2 && (name.contains("/") || name.contains(":"))) rejectFiles();
  }

  private void check(InsertIntoHadoopFsRelationCommand insert) {
    if (insert.catalogTable().isEmpty() && !Scala.map(insert.options()).containsValue(KEY)) rejectFiles();
    checkPath(insert.catalogTable(), insert.outputPath());
  }

  private static void checkFormat(LogicalPlan plan) {
    try {
      Option provider = ((TableSpecBase) plan.getClass().getMethod("tableSpec").invoke(plan)).provider();
      if (provider.isDefined() && !FORMATS.contains(((String) provider.get()).toLowerCase(Locale.ROOT))) {
        reject("the data source " + provider.get());
      }
    } catch (NoSuchMethodException other) {
      return;  // CREATE TABLE LIKE
    } catch (ReflectiveOperationException failure) {
      Platform.throwException(failure);
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
   * case: both names are then in one map, and Spark takes either value.
   */
  private void checkPath(Option table, Path used) {
    if (table.isEmpty() || ((CatalogTable) table.get()).storage().locationUri().isEmpty()) return;
    Path location = new Path((URI) ((CatalogTable) table.get()).storage().locationUri().get());
    Configuration conf = session.sessionState().newHadoopConf();
    boolean isSame = HiveTableIndex.qualified(used, conf).equals(HiveTableIndex.qualified(location, conf));
    if (!isSame) reject("an option that leads the table to other files");
  }

  private void check(Expression expression) {
    String name = expression.getClass().getSimpleName();
    for (int i = 0; i < expression.productArity(); i++) checkProperties(expression.productElement(i));
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
    Platform.throwException(new QueryExecutionException(
        what + " is not available on a server for several users: read and write tables; files named by a path, classes "
            + "and programs would go around the metastore's rights", null));
  }
}
