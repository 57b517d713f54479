package spark_client.core;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Tables of Spark's own kind, USING parquet or orc. */
final class DatasourceTables {
  private static final String MODE = "partitionOverwriteMode";
  private static final List<String> OF_FILES = Arrays.asList("hive", "parquet", "orc", "avro", "json", "csv", "text");
  /** Options by which Spark chooses among files. */
  private static final List CHOOSING =
      Arrays.asList("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter", "basepath");

  /**
   * The table that a relation is, or null: where it is of another kind, or has buckets of Spark's, or where the files of
   * a stream say what is in it, or where Spark finds partitions by listing directories.
   */
  static CatalogTable of(Object plan) {
    if (!(plan instanceof LogicalRelation)) return null;
    LogicalRelation relation = (LogicalRelation) plan;
    if (relation.isStreaming() || relation.catalogTable().isEmpty()) return null;
    if (!(relation.relation() instanceof HadoopFsRelation)) return null;
    CatalogTable table = (CatalogTable) relation.catalogTable().get();
    HadoopFsRelation files = (HadoopFsRelation) relation.relation();
    return isOurs(table) && isPlain(files, table) ? table : null;
  }

  /** Whether the files are those below one directory, and partitions those of the catalog. */
  private static boolean isPlain(HadoopFsRelation files, CatalogTable table) {
    for (Object option : Scala.map(files.options()).keySet()) {
      if (CHOOSING.contains(((String) option).toLowerCase())) return false;
    }
    if (files.partitionSchema().length() != table.partitionColumnNames().size()) return false;
    String index = files.location().getClass().getSimpleName();
    boolean one = index.equals("InMemoryFileIndex") && files.location().rootPaths().size() == 1;
    return index.equals("CatalogFileIndex") || one;
  }

  /** Whether it is of a kind that is written by this library. */
  static boolean isOurs(CatalogTable table) {
    boolean listed = !table.partitionColumnNames().isEmpty() && !table.tracksPartitionsInCatalog();
    return isNew(table) && !listed && !isElsewhere(table);
  }

  /** Whether it is one that Spark or Hive keeps as files, and not another library's. */
  static boolean isOfFiles(CatalogTable table) {
    String provider = table.provider().isDefined() ? (String) table.provider().get() : "";
    return !table.tableType().name().equals("VIEW") && OF_FILES.contains(provider.toLowerCase());
  }

  /** The format of the files of one of Hive's tables, or null where that is no word of Spark's. */
  static String format(CatalogTable table) {
    String input = table.storage().inputFormat().isDefined() ? (String) table.storage().inputFormat().get() : "";
    if (input.endsWith(".MapredParquetInputFormat")) return "parquet";
    return input.endsWith(".OrcInputFormat") ? "orc" : null;
  }

  /** As isOurs, of a table that is still to be made. */
  static boolean isNew(CatalogTable table) {
    String provider = table.provider().isDefined() ? (String) table.provider().get() : "";
    boolean known = provider.equalsIgnoreCase("parquet") || provider.equalsIgnoreCase("orc");
    return known && table.bucketSpec().isEmpty();
  }

  /** Whether the metastore knows another location than Spark: of an external table that Hive could not read. */
  private static boolean isElsewhere(CatalogTable table) {
    String input = table.storage().inputFormat().isDefined() ? (String) table.storage().inputFormat().get() : "";
    return table.tableType().name().equals("EXTERNAL") && input.endsWith(".SequenceFileInputFormat");
  }

  /** Whether INSERT OVERWRITE empties all partitions that its clause does not exclude: the mode that somebody has set. */
  static boolean overwritesAll(LogicalRelation table, SparkSession session) {
    Map options = Scala.map(((HadoopFsRelation) table.relation()).options());
    for (Object name : options.keySet()) {
      if (MODE.equalsIgnoreCase((String) name)) return "static".equalsIgnoreCase((String) options.get(name));
    }
    String mode = session.sessionState().conf().getConfString("spark.sql.sources." + MODE, "dynamic");
    return session.sessionState().conf().contains("spark.sql.sources." + MODE) && "static".equalsIgnoreCase(mode);
  }
}
