package spark_client.core;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Names of settings and properties that reach Hadoop's configuration, in a driver that serves one of several users.
 *
 * Hadoop, Hive and the libraries of the formats read hundreds of names. Some load a class or lead to other files. Some
 * hold serialized objects, such as `parquet.private.read.filter.predicate`, and deserialization runs code.
 */
public final class HadoopNames {
  /** Beginnings of the names that a user may set. */
  private static final List ALLOWED = Arrays.asList(
      "hive.auto.", "hive.bucket_execution_enabled", "hive.cbo.", "hive.cli.", "hive.compute.", "hive.concatenate.",
      "hive.create_empty_bucket_files", "hive.default.fileformat", "hive.enforce.", "hive.error.on.empty.partition",
      "hive.exec.compress.", "hive.exec.dynamic.partition", "hive.exec.max.", "hive.exec.mode.", "hive.exec.orc.",
      "hive.exec.parallel", "hive.exec.reducers.", "hive.execution.engine", "hive.fetch.", "hive.groupby.",
      "hive.limit.", "hive.map.", "hive.mapjoin.", "hive.mapred.", "hive.merge.", "hive.optimize.", "hive.ppd.",
      "hive.resultset.", "hive.server2.", "hive.skewjoin.", "hive.stats.autogather", "hive.stats.fetch.",
      "hive.strict.", "hive.support.", "hive.tez.", "hive.vectorized.", "catalog.name",
      "mapred.job.queue.name", "mapreduce.job.queuename", "pandas_on_spark.", "skew.", "tez.queue.name", "write.");
  /** Beginnings of the names of formats that a user may set, also as properties and options. */
  private static final List ALLOWED_OF_FORMATS = Arrays.asList(
      "parquet.block.", "parquet.bloom.", "parquet.column", "parquet.compression", "parquet.dictionary.",
      "parquet.enable.", "parquet.filter.", "parquet.page.", "parquet.statistics.", "parquet.strings.",
      "parquet.summary.", "parquet.writer.", "orc.block.", "orc.bloom.", "orc.buffer.", "orc.column.", "orc.compress",
      "orc.create.", "orc.dictionary.", "orc.encoding.", "orc.force.", "orc.max.", "orc.row.", "orc.rows.",
      "orc.schema.", "orc.skip.", "orc.stripe.", "orc.tolerate.", "orc.write.");
  private static final List FORMATS = Arrays.asList("parquet.", "orc.");
  /** Beginnings of names that no property of a table and no option of a statement may have. */
  private static final List REJECTED = Arrays.asList(
      "fs.", "dfs.", "ipc.", "io.", "hadoop.", "mapred.", "mapreduce.", "yarn.", "viewfs.", "hive.exec.", "hive.io.",
      "sarg.");
  /** Options and properties that name a file, which Spark reads when it parses rows. */
  private static final Set FILES = new HashSet(Arrays.asList("avroschemaurl", "rowvalidationxsdpath"));
  /** A property that names a file, which Hive's client reads before it asks the metastore to create the table. */
  private static final String SCHEMA = "avro.schema.url";

  /**
   * The names that the sessions of JDBC clients may set in Hive's own configuration, as a regular expression. A session
   * can call the metastore with that configuration, also another one, or one in this JVM, which loads classes.
   */
  public static final String OF_HIVE_SESSIONS = ofHiveSessions();

  private HadoopNames() {}

  private static String ofHiveSessions() {
    StringBuilder names = new StringBuilder("(?i)[^.]*|spark\\..*");
    for (Object each : ALLOWED) names.append('|').append(Pattern.quote((String) each)).append(".*");
    for (Object each : ALLOWED_OF_FORMATS) names.append('|').append(Pattern.quote((String) each)).append(".*");
    return names.toString();
  }

  /** Whether a user may set a setting. Spark copies all settings of the session to Hadoop's configuration. */
  static boolean isSetting(String name) {
    return !name.contains(".") || startsWith(name, ALLOWED) || startsWith(name, ALLOWED_OF_FORMATS);
  }

  /**
   * Whether a table may have a property, and a statement an option. Spark and Hive copy many of them to Hadoop's
   * configuration. Most names are free: tables have properties of many programs. `isNew`: the statement defines it.
   */
  static boolean isProperty(String text, boolean isNew) {
    String name = text.toLowerCase(Locale.ROOT);
    if (FILES.contains(name) || isNew && name.equals(SCHEMA)) return false;
    if (name.startsWith("spark.") || name.startsWith("hive.server2.")) return true;
    if (name.endsWith(".class") || name.endsWith(".impl") || startsWith(name, REJECTED)) return false;
    return !startsWith(name, FORMATS) || startsWith(name, ALLOWED_OF_FORMATS);
  }

  static boolean startsWith(String name, List beginnings) {
    for (Object each : beginnings) if (name.startsWith((String) each)) return true;
    return false;
  }
}
