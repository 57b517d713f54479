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
 * A rule of the analyzer: Hive's tables of Parquet and ORC are read through HiveTableIndex, INSERT and CREATE TABLE AS
 * SELECT go to Python. Spark makes the command of the latter after resolution, so the rule is applied then, too.
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
    /** A table parameter of ours: Spark's own ALTER TABLE forgets a table's skew, its partitions keep theirs. */
    private static final String MARK = "skewed.directories";

    private static final String NULL_PARTITION = ExternalCatalogUtils.DEFAULT_PARTITION_NAME();

    private final SparkSession session;
    private final Python python;
    private final StaleRelations current;
    private final FileFormat parquet = new HiveFileFormats.Parquet(false);
    private final FileFormat sparksParquet = new HiveFileFormats.Parquet(true);
    private final FileFormat orc = new HiveFileFormats.Orc();

    Replacement(SparkSession session, Python python) {
      this.session = session;
      this.python = python;
      this.current = new StaleRelations(session);
    }

    public boolean isDefinedAt(Object plan) {
      return table(plan) != null || inserts(plan) != null;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      Inserts inserts = inserts(plan);
      if (inserts != null) return command(inserts, "INSERT");
      CatalogTable table = table(plan);
      if (table == null) return otherwise.apply(plan);
      boolean remembered = plan instanceof LogicalRelation || DatasourceTables.of(target(plan)) != null;
      LogicalPlan again = remembered ? current.again((LogicalPlan) plan, table) : null;
      if (again != null) return table(again) == null ? again : applyOrElse(again, otherwise);
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
        request.put("dropped", DroppedTables.dropped(table.identifier()));
        return command(new Waiting(python, "create", table.identifier(), request, plan, queries), "CREATE TABLE AS SELECT");
      }
      if (RowChanges.table(plan) != null) {
        RowChanges changes = RowChanges.of(plan);
        return command(
            new Waiting(python, "change", table.identifier(), changes.request(), changes.subject(), changes.queries()),
            RowChanges.name(plan));
      }
      if (plan instanceof TruncateTableCommand) {
        Map<String, Object> request = new HashMap<>();
        request.put("partition", values(((TruncateTableCommand) plan).partitionSpec()));
        List none = new ArrayList<>();
        return command(new Waiting(python, "truncate", table.identifier(), request, null, none), "TRUNCATE TABLE");
      }
      InsertIntoStatement written = (InsertIntoStatement) plan;
      check(table, written);
      // Spark's own rule matches columns, fills in defaults and casts; where there is no clause, it makes one.
      InsertIntoStatement insert = (InsertIntoStatement) PreprocessTableInsertion$.MODULE$.apply(written);
      scala.collection.immutable.Map clause =
          written.partitionSpec().isEmpty() ? written.partitionSpec() : insert.partitionSpec();
      Map request = request(clause, insert.overwrite(), insert.ifPartitionNotExists());
      if (insert.overwrite() && insert.table() instanceof LogicalRelation) {
        request.put("whole", DatasourceTables.overwritesAll((LogicalRelation) insert.table(), session));
      }
      return insert(table, request, insert.query());
    }

    /** The INSERTs of FROM … INSERT … INSERT …, which Spark parses into a union, or null. */
    private static Inserts inserts(Object plan) {
      if (!(plan instanceof Union)) return null;
      Inserts all = new Inserts();
      for (Object child : Scala.list(((Union) plan).children())) {
        Object work = child instanceof Command ? ((Command) child).work() : null;
        if (!(work instanceof Inserts)) return null;
        all.add((Inserts) work);
      }
      return all;
    }

    private static Object target(Object plan) {
      return plan instanceof InsertIntoStatement ? ((InsertIntoStatement) plan).table() : null;
    }

    /** The table of Hive's that this node is about, or null where it is left to Spark. */
    private CatalogTable table(Object plan) {
      if (plan instanceof HiveTableRelation) {
        CatalogTable table = ((HiveTableRelation) plan).tableMeta();
        return format(table) != null || skewed(table) ? table : null;
      }
      if (plan instanceof LogicalRelation) return DatasourceTables.of(plan);
      if (plan instanceof InsertIntoHiveTable) return writable(((InsertIntoHiveTable) plan).table());
      if (plan instanceof CreateHiveTableAsSelectCommand) {
        return writable(((CreateHiveTableAsSelectCommand) plan).tableDesc());
      }
      if (plan instanceof CreateDataSourceTableAsSelectCommand) {
        CatalogTable table = ((CreateDataSourceTableAsSelectCommand) plan).table();
        boolean known = session.sessionState().conf().manageFilesourcePartitions();
        return known && DatasourceTables.isNew(table) && !isMadeOver((CreateDataSourceTableAsSelectCommand) plan) ? table : null;
      }
      if (plan instanceof InsertIntoStatement) {
        InsertIntoStatement insert = (InsertIntoStatement) plan;
        if (!insert.query().resolved()) return null;
        if (!(insert.table() instanceof HiveTableRelation)) return DatasourceTables.of(insert.table());
        return writable(((HiveTableRelation) insert.table()).tableMeta());
      }
      if (plan instanceof LoadDataCommand) {
        CatalogTable table = table(((LoadDataCommand) plan).table());
        return skewed(table) || table.bucketSpec().isDefined() ? table : null;
      }
      if (plan instanceof TruncateTableCommand) {
        CatalogTable table = table(((TruncateTableCommand) plan).tableName());
        boolean hives = table.provider().equals(Option.apply("hive")) && format(table) != null;
        return table.tableType().name().equals("MANAGED") && (hives || DatasourceTables.isOurs(table)) ? table : null;
      }
      return RowChanges.table(plan);
    }

    /** Whether a new table is to replace files that lie where it is to be: Spark's own writer does so. */
    private boolean isMadeOver(CreateDataSourceTableAsSelectCommand plan) {
      boolean placed = plan.table().storage().locationUri().isDefined();
      if (!placed || !plan.mode().name().equals("Overwrite")) return false;
      return !session.sessionState().catalog().tableExists(plan.table().identifier());
    }

    private CatalogTable table(TableIdentifier name) {
      return session.sessionState().catalog().getTempViewOrPermanentTableMetadata(name);
    }

    private static boolean skewed(CatalogTable table) {
      return table.unsupportedFeatures().contains("skewed columns") || table.properties().contains(MARK);
    }

    /**
     * Other formats are left to Spark's own writer, as to its reader: see scan. Of buckets it knows a part of Hive's
     * version 1 only, whatever the table says: Python refuses those.
     */
    private CatalogTable writable(CatalogTable table) {
      return format(table) == null && !table.bucketSpec().isDefined() ? null : table;
    }

    /** Null for what Spark cannot read as plain files: other formats, and Hudi's, which has Parquet's serde. */
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
        // Spark's reader of other formats is right as long as no partition has skew directories: Python refuses else.
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
      FileFormat format = own.fileFormat() instanceof ParquetFileFormat ? sparksParquet : orc;
      return scan(table, index, own.partitionSchema(), own.dataSchema(), format, own.options(), plan);
    }

    private LogicalPlan scan(
        CatalogTable table, HiveTableIndex index, StructType partitions, StructType data, FileFormat format,
        scala.collection.immutable.Map options, LogicalPlan plan) {
      HadoopFsRelation relation = new HadoopFsRelation(index, partitions, data, Option.empty(), format, options, session);
      return (LogicalPlan) SparkVersions.make(LogicalRelation.class, relation, plan.output(), Option.apply(table), false);
    }

    /** What Hive refuses, in Hive's words: Spark's own rule has others, and knows no strict mode. */
    private void check(CatalogTable table, InsertIntoStatement insert) {
      int columns = table.dataSchema().size(), count = insert.query().output().size();
      boolean byPosition = !insert.byName() && insert.userSpecifiedCols().isEmpty();
      boolean named = !insert.partitionSpec().isEmpty() || !table.partitionColumnNames().isEmpty();
      if (!named && byPosition && count == columns) return;
      Map request = request(insert.partitionSpec(), insert.overwrite(), insert.ifPartitionNotExists());
      request.put("columns", columns);
      request.put("partition_columns", columns(table.partitionSchema()));
      request.put("count", byPosition ? (Object) count : null);
      python.ask("check_insert", table.identifier(), request, session);
    }

    /** [name, type] of each. */
    private List columns(StructType schema) {
      List<String[]> columns = new ArrayList<>();
      for (StructField field : CharVarcharUtils.getRawSchema(schema, session.sessionState().conf()).fields()) {
        columns.add(new String[] {field.name().toLowerCase(), field.dataType().catalogString()});
      }
      return columns;
    }

    private LogicalPlan insert(CatalogTable table, Map request, LogicalPlan query) {
      Inserts insert = new Inserts();
      insert.add(table.identifier(), request, SparkVersions.withTexts(query), python);
      return command(insert, "INSERT");
    }

    private static Map request(scala.collection.immutable.Map partition, boolean overwrite, boolean ifNotExists) {
      Map<String, Object> spec = new LinkedHashMap<>();
      for (Map.Entry entry : Scala.map(partition).entrySet()) {
        Option value = (Option) entry.getValue();
        // None: rows decide. Some(null): p = NULL.
        spec.put(entry.getKey(), value.isDefined() ? value.get() == null ? NULL_PARTITION : value.get() : null);
      }
      Map<String, Object> request = new HashMap<>();
      request.put("partition", spec);
      request.put("overwrite", overwrite);
      request.put("if_not_exists", ifNotExists);
      request.put("whole", false);
      return request;
    }

    /** Of the partitions that a statement names; nothing where it names none. */
    private static Map values(Option spec) {
      Map<String, Object> values = new LinkedHashMap<>();
      if (spec.isEmpty()) return values;
      for (Map.Entry entry : Scala.map((scala.collection.Map) spec.get()).entrySet()) {
        values.put(entry.getKey(), entry.getValue() == null ? NULL_PARTITION : entry.getValue());
      }
      return values;
    }

    private static LogicalPlan command(Command.Work work, String name) {
      return new Command(work, name);
    }
  }

  /** INSERTs of one statement that wait for their execution. */
  private static final class Inserts extends Command.Work {
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

    void add(Inserts others) {
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
      objects.add(queries);
      python.ask("insert", (TableIdentifier) tables.get(0), request, objects);
      return new ArrayList<>();
    }

    public List queries() {
      return queries;
    }

    public String toString() {
      return tables.toString();
    }
  }

  /** A statement that waits for its execution. */
  private static final class Waiting extends Command.Work {
    private final Python python;
    private final String what;
    private final TableIdentifier table;
    private final Map request;
    private final Object subject;
    private final List queries;

    Waiting(Python python, String what, TableIdentifier table, Map request, Object subject, List queries) {
      this.python = python;
      this.what = what;
      this.table = table;
      this.request = request;
      this.subject = subject;
      this.queries = queries;
    }

    public List run(org.apache.spark.sql.SparkSession session) {
      List<Object> objects = new ArrayList<>();
      objects.add(session);
      objects.add(subject);
      python.ask(what, table, request, objects);
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
