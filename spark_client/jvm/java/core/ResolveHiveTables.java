package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.LoadDataCommand;
import org.apache.spark.sql.execution.command.TruncateTableCommand;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PreprocessTableInsertion$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.hive.execution.CreateHiveTableAsSelectCommand;
import org.apache.spark.sql.hive.execution.InsertIntoHiveTable;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/**
 * An analyzer rule: Hive tables stored as Parquet and ORC are read through HiveTableIndex, and writes are sent to
 * Python.
 *
 * It also runs after resolution, when Spark creates the command of CREATE TABLE AS SELECT.
 */
public final class ResolveHiveTables extends Rule {
  private final Replacement replacement;

  public ResolveHiveTables(SparkSession session, Python python) {
    this.replacement = new Replacement(session, python);
  }

  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).resolveOperatorsUp(replacement);
  }

  private static final class Replacement extends AbstractPartialFunction {
    /**
     * A table parameter of this library. Spark's ALTER TABLE loses the skew of a table, but its partitions keep theirs.
     */
    private static final String MARK = "skewed.directories";

    private static final String NULL_PARTITION = ExternalCatalogUtils.DEFAULT_PARTITION_NAME();

    private final SparkSession session;
    private final Python python;
    private final StaleRelations staleRelations;
    private final FileFormat parquet = new HiveFileFormats.Parquet(false);
    private final FileFormat datasourceParquet = new HiveFileFormats.Parquet(true);
    private final FileFormat orc = new HiveFileFormats.Orc();

    Replacement(SparkSession session, Python python) {
      this.session = session;
      this.python = python;
      this.staleRelations = new StaleRelations(session);
    }

    public boolean isDefinedAt(Object plan) {
      return table(plan) != null || inserts(plan) != null;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      InsertCommand inserts = inserts(plan);
      if (inserts != null) return command(inserts, "INSERT");
      CatalogTable table = table(plan);
      if (table == null) return otherwise.apply(plan);
      boolean cached = plan instanceof LogicalRelation || DatasourceTables.tableOf(target(plan)) != null;
      LogicalPlan refreshed = cached ? staleRelations.refreshed((LogicalPlan) plan, table) : null;
      if (refreshed != null) return table(refreshed) == null ? refreshed : applyOrElse(refreshed, otherwise);
      if (plan instanceof HiveTableRelation) return scan((HiveTableRelation) plan, table);
      if (plan instanceof LogicalRelation) return scan((LogicalRelation) plan, table);
      if (plan instanceof LoadDataCommand) {
        Map<String, Object> request = new HashMap<>();
        request.put("strict", session.sessionState().conf().getConfString("hive.strict.checks.bucketing", "true"));
        python.ask("check_load", table.identifier(), request, null);
        return plan;
      }
      if (plan instanceof InsertIntoHiveTable) {
        InsertIntoHiveTable insert = (InsertIntoHiveTable) plan;
        Map request = request(insert.partition(), insert.overwrite(), insert.ifPartitionNotExists());
        return insert(table, request, insert.query());
      }
      if (plan instanceof CreateHiveTableAsSelectCommand || plan instanceof CreateDataSourceTableAsSelectCommand) {
        List queries = Scala.list(((LogicalPlan) plan).innerChildren());
        Map<String, Object> request = new HashMap<>();
        request.put("dropped", DroppedTables.takeDropped(table.identifier()));
        return command(
            new PythonCommand(python, "create", table.identifier(), request, plan, queries), "CREATE TABLE AS SELECT");
      }
      if (RowChanges.table(plan) != null) {
        RowChanges changes = RowChanges.of(plan, table, session);
        return command(
            new PythonCommand(
                python, "change", table.identifier(), changes.request(), changes.objects(), changes.queries()),
            RowChanges.name(plan));
      }
      if (plan instanceof TruncateTableCommand) {
        Map<String, Object> request = new HashMap<>();
        request.put("partition", values(((TruncateTableCommand) plan).partitionSpec()));
        List none = new ArrayList<>();
        return command(
            new PythonCommand(python, "truncate", table.identifier(), request, null, none), "TRUNCATE TABLE");
      }
      InsertIntoStatement statement = (InsertIntoStatement) plan;
      check(table, statement);
      // Spark's own rule matches columns, adds defaults and casts. It also adds a PARTITION clause if there is none.
      InsertIntoStatement insert = (InsertIntoStatement) PreprocessTableInsertion$.MODULE$.apply(statement);
      scala.collection.immutable.Map clause =
          statement.partitionSpec().isEmpty() ? statement.partitionSpec() : insert.partitionSpec();
      Map request = request(clause, insert.overwrite(), insert.ifPartitionNotExists());
      if (insert.overwrite() && insert.table() instanceof LogicalRelation) {
        request.put("whole", DatasourceTables.isStaticOverwrite((LogicalRelation) insert.table(), session));
      }
      return insert(table, request, insert.query());
    }

    /** The INSERTs of FROM … INSERT … INSERT …, which Spark parses into a union, or null. */
    private static InsertCommand inserts(Object plan) {
      if (!(plan instanceof Union)) return null;
      InsertCommand all = new InsertCommand();
      for (Object child : Scala.list(((Union) plan).children())) {
        Object operation = child instanceof Command ? ((Command) child).operation() : null;
        if (!(operation instanceof InsertCommand)) return null;
        all.add((InsertCommand) operation);
      }
      return all;
    }

    private static Object target(Object plan) {
      return plan instanceof InsertIntoStatement ? ((InsertIntoStatement) plan).table() : null;
    }

    /** The table that the node reads or writes, or null if the node is left to Spark. */
    private CatalogTable table(Object plan) {
      if (plan instanceof HiveTableRelation) {
        CatalogTable table = ((HiveTableRelation) plan).tableMeta();
        return format(table) != null || isSkewed(table) ? table : null;
      }
      if (plan instanceof LogicalRelation) return DatasourceTables.tableOf(plan);
      if (plan instanceof InsertIntoHiveTable) return writable(((InsertIntoHiveTable) plan).table());
      if (plan instanceof CreateHiveTableAsSelectCommand) {
        return writable(((CreateHiveTableAsSelectCommand) plan).tableDesc());
      }
      if (plan instanceof CreateDataSourceTableAsSelectCommand) {
        CatalogTable table = ((CreateDataSourceTableAsSelectCommand) plan).table();
        boolean known = session.sessionState().conf().manageFilesourcePartitions();
        boolean supported = known && DatasourceTables.isSupportedDefinition(table);
        return supported && !replacesFiles((CreateDataSourceTableAsSelectCommand) plan) ? table : null;
      }
      if (plan instanceof InsertIntoStatement) {
        InsertIntoStatement insert = (InsertIntoStatement) plan;
        if (!insert.query().resolved()) return null;
        if (!(insert.table() instanceof HiveTableRelation)) return DatasourceTables.tableOf(insert.table());
        return writable(((HiveTableRelation) insert.table()).tableMeta());
      }
      if (plan instanceof LoadDataCommand) {
        CatalogTable table = table(((LoadDataCommand) plan).table());
        return isSkewed(table) || table.bucketSpec().isDefined() ? table : null;
      }
      if (plan instanceof TruncateTableCommand) {
        CatalogTable table = table(((TruncateTableCommand) plan).tableName());
        boolean isHiveTable = table.provider().equals(Option.apply("hive")) && format(table) != null;
        boolean supported = isHiveTable || DatasourceTables.isSupported(table);
        return supported && table.tableType().name().equals("MANAGED") ? table : null;
      }
      return RowChanges.table(plan);
    }

    /** Whether a new table replaces existing files at its location, which is left to Spark's own writer. */
    private boolean replacesFiles(CreateDataSourceTableAsSelectCommand plan) {
      boolean hasLocation = plan.table().storage().locationUri().isDefined();
      if (!hasLocation || !plan.mode().name().equals("Overwrite")) return false;
      return !session.sessionState().catalog().tableExists(plan.table().identifier());
    }

    private CatalogTable table(TableIdentifier name) {
      return session.sessionState().catalog().getTempViewOrPermanentTableMetadata(name);
    }

    private static boolean isSkewed(CatalogTable table) {
      return table.unsupportedFeatures().contains("skewed columns") || table.properties().contains(MARK);
    }

    /**
     * The table, or null if Spark writes it: it has another format and no buckets. Spark knows only a part of Hive's
     * bucketing version 1, so Python rejects other formats with buckets.
     */
    private CatalogTable writable(CatalogTable table) {
      return format(table) == null && !table.bucketSpec().isDefined() ? null : table;
    }

    /**
     * The reader of the table's files, or null if Spark cannot read them as plain files: another format, or Hudi, which
     * uses Parquet's serde.
     */
    private FileFormat format(CatalogTable table) {
      String name = DatasourceTables.format(table);
      if (name == null) return null;
      return name.equals("orc") ? orc : parquet;
    }

    private static String serde(CatalogTable table) {
      return table.storage().serde().isDefined() ? (String) table.storage().serde().get() : "";
    }

    private LogicalPlan scan(HiveTableRelation plan, CatalogTable table) {
      FileFormat format = format(table);
      if (format == null) {
        // Spark's reader of other formats is correct unless a partition has skew directories, which Python rejects.
        Map<String, Object> request = new HashMap<>();
        request.put("serde", serde(table));
        python.ask("check_spark_reader", table.identifier(), request, null);
        return plan;
      }
      HiveTableIndex index = new HiveTableIndex(session, table, python, null);
      return scan(table, index, table.partitionSchema(), table.dataSchema(), format, table.storage().properties(), plan);
    }

    private LogicalPlan scan(LogicalRelation plan, CatalogTable table) {
      HadoopFsRelation own = (HadoopFsRelation) plan.relation();
      HiveTableIndex index = new HiveTableIndex(session, table, python, own.location());
      FileFormat format = own.fileFormat() instanceof ParquetFileFormat ? datasourceParquet : orc;
      return scan(table, index, own.partitionSchema(), own.dataSchema(), format, own.options(), plan);
    }

    private LogicalPlan scan(
        CatalogTable table, HiveTableIndex index, StructType partitions, StructType data, FileFormat format,
        scala.collection.immutable.Map options, LogicalPlan plan) {
      HadoopFsRelation relation = new HadoopFsRelation(index, partitions, data, Option.empty(), format, options, session);
      return (LogicalPlan) SparkVersions.newInstance(
          LogicalRelation.class, relation, plan.output(), Option.apply(table), false);
    }

    /** Rejects an INSERT with Hive's error messages. Spark's rule has others and does not know strict mode. */
    private void check(CatalogTable table, InsertIntoStatement insert) {
      int columns = table.dataSchema().size(), count = insert.query().output().size();
      boolean byPosition = !insert.byName() && insert.userSpecifiedCols().isEmpty();
      boolean named = !insert.partitionSpec().isEmpty() || !table.partitionColumnNames().isEmpty();
      if (!named && byPosition && count == columns) return;
      Map request = request(insert.partitionSpec(), insert.overwrite(), insert.ifPartitionNotExists());
      request.put("columns", columns);
      request.put("partition_columns", columns(table.partitionSchema()));
      request.put("count", byPosition ? (Object) count : null);
      request.put("dynamic", session.sessionState().conf().getConfString("hive.exec.dynamic.partition", "true"));
      request.put("mode", session.sessionState().conf().getConfString("hive.exec.dynamic.partition.mode", "nonstrict"));
      python.ask("check_insert", table.identifier(), request, session);
    }

    /** Name and type of each column. */
    private List columns(StructType schema) {
      List<String[]> columns = new ArrayList<>();
      for (StructField field : CharVarcharUtils.getRawSchema(schema, session.sessionState().conf()).fields()) {
        columns.add(new String[] {field.name().toLowerCase(), field.dataType().catalogString()});
      }
      return columns;
    }

    private LogicalPlan insert(CatalogTable table, Map request, LogicalPlan query) {
      InsertCommand insert = new InsertCommand();
      insert.add(table.identifier(), request, SparkVersions.withStringLiterals(query), python);
      return command(insert, "INSERT");
    }

    private static Map request(scala.collection.immutable.Map partition, boolean overwrite, boolean ifNotExists) {
      Map<String, Object> spec = new LinkedHashMap<>();
      for (Map.Entry entry : Scala.map(partition).entrySet()) {
        Option value = (Option) entry.getValue();
        // None: the rows supply the value. Some(null): p = NULL.
        spec.put(entry.getKey(), value.isDefined() ? value.get() == null ? NULL_PARTITION : value.get() : null);
      }
      Map<String, Object> request = new HashMap<>();
      request.put("partition", spec);
      request.put("overwrite", overwrite);
      request.put("if_not_exists", ifNotExists);
      request.put("whole", false);
      return request;
    }

    /** The values of the partitions that a statement names. Empty if it names none. */
    private static Map values(Option spec) {
      Map<String, Object> values = new LinkedHashMap<>();
      if (spec.isEmpty()) return values;
      for (Map.Entry entry : Scala.map((scala.collection.Map) spec.get()).entrySet()) {
        values.put(entry.getKey(), entry.getValue() == null ? NULL_PARTITION : entry.getValue());
      }
      return values;
    }

    private static LogicalPlan command(Command.Operation operation, String name) {
      return new Command(operation, name);
    }
  }

  /** The INSERTs of one statement. */
  private static final class InsertCommand extends Command.Operation {
    private final List<TableIdentifier> tables = new ArrayList<>();
    private final List<Map> requests = new ArrayList<>();
    private final List<LogicalPlan> queries = new ArrayList<>();
    private Python python;

    void add(TableIdentifier table, Map request, LogicalPlan query, Python python) {
      request.put("database", table.database().get());
      request.put("table", table.table());
      this.tables.add(table);
      this.requests.add(request);
      this.queries.add(query);
      this.python = python;
    }

    void add(InsertCommand others) {
      tables.addAll(others.tables);
      requests.addAll(others.requests);
      queries.addAll(others.queries);
      python = others.python;
    }

    public List run(org.apache.spark.sql.SparkSession session) {
      Map<String, Object> request = new HashMap<>();
      request.put("inserts", requests);
      List<Object> objects = new ArrayList<>();
      objects.add(session);
      for (Object query : CurrentTime.fixed((SparkSession) session, queries)) {
        objects.add(Dataset.ofRows((SparkSession) session, (LogicalPlan) query));
      }
      try {
        python.ask("insert", (TableIdentifier) tables.get(0), request, objects);
      } finally {
        for (TableIdentifier table : tables) ChangedTables.refresh(session, table);
      }
      return new ArrayList<>();
    }

    public List queries() {
      return queries;
    }

    public String toString() {
      return tables.toString();
    }
  }

  /** A command that Python runs. */
  private static final class PythonCommand extends Command.Operation {
    private final Python python;
    private final String requestName;
    private final TableIdentifier table;
    private final Map request;
    private final Object subject;
    private final List queries;

    PythonCommand(Python python, String requestName, TableIdentifier table, Map request, Object subject, List queries) {
      this.python = python;
      this.requestName = requestName;
      this.table = table;
      this.request = request;
      this.subject = subject;
      this.queries = queries;
    }

    public List run(org.apache.spark.sql.SparkSession session) {
      List<Object> objects = new ArrayList<>();
      objects.add(session);
      objects.add(subject);
      try {
        python.ask(requestName, table, request, objects);
      } finally {
        if (!requestName.equals("create")) ChangedTables.refresh(session, table); // a failed one may leave no table
      }
      return new ArrayList<>();
    }

    public List queries() {
      return queries;
    }

    public String toString() {
      return table.unquotedString();
    }
  }
}
