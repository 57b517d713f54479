package spark_client.core;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Recognizes datasource tables, USING parquet or orc, and other tables by their catalog entries. */
final class DatasourceTables {
  private static final String MODE = "partitionOverwriteMode";
  private static final List<String> FILE_PROVIDERS = Arrays.asList("hive", "parquet", "orc", "avro", "json", "csv", "text");
  /** Read options that select among the files of a table. */
  private static final List FILE_SELECTION_OPTIONS =
      Arrays.asList("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter", "basepath");

  /**
   * The table of a relation, or null if this library does not read it: another format, buckets of Spark, a table of
   * Spark's file sink, or partitions that Spark finds by listing directories.
   */
  static CatalogTable tableOf(Object plan) {
    if (!(plan instanceof LogicalRelation)) return null;
    LogicalRelation relation = (LogicalRelation) plan;
    if (relation.isStreaming() || relation.catalogTable().isEmpty()) return null;
    if (!(relation.relation() instanceof HadoopFsRelation)) return null;
    CatalogTable table = (CatalogTable) relation.catalogTable().get();
    HadoopFsRelation files = (HadoopFsRelation) relation.relation();
    return isSupported(table) && isPlainTable(files, table) ? table : null;
  }

  /** Whether the files are below one directory and the partitions come from the catalog. */
  private static boolean isPlainTable(HadoopFsRelation files, CatalogTable table) {
    for (Object option : Scala.map(files.options()).keySet()) {
      if (FILE_SELECTION_OPTIONS.contains(((String) option).toLowerCase())) return false;
    }
    if (files.partitionSchema().length() != table.partitionColumnNames().size()) return false;
    String index = files.location().getClass().getSimpleName();
    boolean one = index.equals("InMemoryFileIndex") && files.location().rootPaths().size() == 1;
    return index.equals("CatalogFileIndex") || one;
  }

  /** Whether this library writes such tables. */
  static boolean isSupported(CatalogTable table) {
    boolean listed = !table.partitionColumnNames().isEmpty() && !table.tracksPartitionsInCatalog();
    return isSupportedDefinition(table) && !listed && !hasOtherLocation(table);
  }

  /** Whether the table consists of files in a format of Spark or Hive, and does not belong to another library. */
  static boolean isFileTable(CatalogTable table) {
    String provider = table.provider().isDefined() ? (String) table.provider().get() : "";
    return !table.tableType().name().equals("VIEW") && FILE_PROVIDERS.contains(provider.toLowerCase());
  }

  /** The file format of a Hive table as Spark names it, or null for any other format. */
  static String format(CatalogTable table) {
    String input = table.storage().inputFormat().isDefined() ? (String) table.storage().inputFormat().get() : "";
    if (input.endsWith(".MapredParquetInputFormat")) return "parquet";
    return input.endsWith(".OrcInputFormat") ? "orc" : null;
  }

  /** As isSupported, for a table that is not created yet. */
  static boolean isSupportedDefinition(CatalogTable table) {
    String provider = table.provider().isDefined() ? (String) table.provider().get() : "";
    boolean known = provider.equalsIgnoreCase("parquet") || provider.equalsIgnoreCase("orc");
    return known && table.bucketSpec().isEmpty();
  }

  /** Whether the metastore has another location than Spark. That is so for external tables that Hive cannot read. */
  private static boolean hasOtherLocation(CatalogTable table) {
    String input = table.storage().inputFormat().isDefined() ? (String) table.storage().inputFormat().get() : "";
    return table.tableType().name().equals("EXTERNAL") && input.endsWith(".SequenceFileInputFormat");
  }

  /**
   * Whether INSERT OVERWRITE empties all partitions that its clause does not exclude: partitionOverwriteMode is set to
   * static.
   */
  static boolean isStaticOverwrite(LogicalRelation table, SparkSession session) {
    Map options = Scala.map(((HadoopFsRelation) table.relation()).options());
    for (Object name : options.keySet()) {
      if (MODE.equalsIgnoreCase((String) name)) return "static".equalsIgnoreCase((String) options.get(name));
    }
    String mode = session.sessionState().conf().getConfString("spark.sql.sources." + MODE, "dynamic");
    return session.sessionState().conf().contains("spark.sql.sources." + MODE) && "static".equalsIgnoreCase(mode);
  }
}
