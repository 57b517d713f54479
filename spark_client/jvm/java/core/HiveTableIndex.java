package spark_client.core;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * The files of a Hive table.
 *
 * Each scan asks the metastore once for the directories that can hold matches. Spark's own index then lists them and
 * applies the partition filters exactly.
 */
public final class HiveTableIndex implements FileIndex {
  /** A property of threads that plan scans which are no queries, as for a report. */
  static final String NO_QUERY = "metastore.scan.no_query";

  private final SparkSession session;
  private final CatalogTable table;
  private final Python python;
  private final FileIndex sparkIndex;
  private final Seq inputFilters;

  /** `sparkIndex`: Spark's index of a datasource table, or null for a Hive table. */
  public HiveTableIndex(SparkSession session, CatalogTable table, Python python, FileIndex sparkIndex) {
    this(session, table, python, sparkIndex, Scala.seq());
  }

  private HiveTableIndex(
      SparkSession session, CatalogTable table, Python python, FileIndex sparkIndex, Seq inputFilters) {
    this.session = session;
    this.table = table;
    this.python = python;
    this.sparkIndex = sparkIndex;
    this.inputFilters = inputFilters;
  }

  /** An index whose `inputFiles` are those of the partitions that pass the filters. */
  public HiveTableIndex withInputFilters(Seq partitionFilters) {
    return new HiveTableIndex(session, table, python, sparkIndex, partitionFilters);
  }

  public Seq rootPaths() {
    return Scala.seq(new Path(table.location()));
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    return list(partitionFilters, dataFilters).directories();
  }

  /** The files that a scan with these filters reads. */
  public Listing list(Seq partitionFilters, Seq dataFilters) {
    JsonNode plan = plan(partitionFilters, dataFilters);
    Map<Path, JsonNode> partitions = new HashMap<>();
    // The plan comes before the listing: files that are added in between belong to writes that the plan does not
    // include.
    InMemoryFileIndex index = directories(plan, partitionFilters, partitions);
    VisibleWrites writes = new VisibleWrites(plan.get("writes"));
    Seq visible = writes.visible(index.listFiles(partitionFilters, dataFilters));
    JsonNode declared = plan.get("buckets");
    if (declared.isNull()) return new Listing(index, visible, null);
    BucketSelection buckets = (BucketSelection) python.make("buckets", "BucketFiles", session, table, python, declared);
    buckets.select(index, writes, partitions, dataFilters);
    return new Listing(index, buckets.selectedFiles(visible), buckets);
  }

  /** The files of a scan. */
  public static final class Listing {
    private final InMemoryFileIndex index;
    private final Seq directories;
    private final BucketSelection buckets;

    Listing(InMemoryFileIndex index, Seq directories, BucketSelection buckets) {
      this.index = index;
      this.directories = directories;
      this.buckets = buckets;
    }

    /** The partition directories, with the files to read. */
    public Seq directories() {
      return directories;
    }

    /** The selected buckets, or null if the table has none or the session ignores them. */
    public BucketSelection buckets() {
      return buckets;
    }
  }

  public String[] inputFiles() {
    List<String> names = new ArrayList<>();
    for (PartitionDirectory directory : Scala.list(listFiles(inputFilters, Scala.seq()))) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        names.add(SparkPath.fromFileStatus(file.fileStatus()).urlEncoded());
      }
    }
    return (String[]) names.toArray(new String[0]);
  }

  public void refresh() {}

  public boolean isTimeTravel() {
    return false;
  }

  public Option metadataOpsTimeNs() {
    return Option.empty();
  }

  /**
   * The size in the table's statistics, or of the files that Spark has listed. Otherwise the default, which prevents a
   * broadcast, as for Hive tables.
   */
  public long sizeInBytes() {
    if (table.stats().isDefined()) return ((CatalogStatistics) table.stats().get()).sizeInBytes().toLong();
    return sparkIndex == null ? session.sessionState().conf().defaultSizeInBytes() : sparkIndex.sizeInBytes();
  }

  public StructType partitionSchema() {
    return table.partitionSchema();
  }

  /** Spark ignores the result of a rule that is equal to the plan. Filters on two scans of a table can be equal. */
  public boolean equals(Object other) {
    if (!(other instanceof HiveTableIndex)) return false;
    HiveTableIndex index = (HiveTableIndex) other;
    if (!table.identifier().equals(index.table.identifier())) return false;
    if (inputFilters.isEmpty() && index.inputFilters.isEmpty()) return true;
    return boundFilters().equals(index.boundFilters());
  }

  private Set boundFilters() {
    Set<Expression> bound = new HashSet<>();
    for (Expression filter : Scala.list(inputFilters)) {
      bound.add((Expression) PartitionFilters.bound(table.partitionSchema(), filter).canonicalized());
    }
    return bound;
  }

  public int hashCode() {
    return table.identifier().hashCode();
  }

  public String toString() {
    return "HiveTableIndex(" + table.identifier().unquotedString() + ")";
  }

  /** database.table */
  public String name() {
    return table.identifier().database().get() + "." + table.identifier().table();
  }

  public Map measureAll() {
    return measure(Scala.seq(), Scala.seq());
  }

  /** The size of a scan with these filters: {partitions, directories, buckets, files, bytes}. */
  public Map measure(Seq partitionFilters, Seq dataFilters) {
    List<Expression> known = new ArrayList<>();
    for (Expression filter : Scala.list(partitionFilters)) {
      if (!filter.exists(new PartitionFilters.Dynamic())) known.add(filter);
    }
    Listing listing = list(Scala.seq(known), dataFilters);
    Set<InternalRow> rows = new HashSet<>();
    long directories = 0, files = 0, bytes = 0;
    for (PartitionDirectory directory : Scala.list(listing.directories())) {
      rows.add(directory.values());
      directories++;
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        files++;
        bytes += file.getLen();
      }
    }
    if (table.partitionColumnNames().isEmpty()) directories = listing.index.rootPaths().size();
    Map<String, Long> measured = new HashMap<>();
    measured.put("partitions", (long) rows.size());
    measured.put("directories", directories);
    measured.put("buckets", listing.buckets == null ? 0L : listing.buckets.buckets());
    measured.put("files", files);
    measured.put("bytes", bytes);
    return measured;
  }

  /** Catalyst's JSON of each filter, for Python. Null if it cannot be written. */
  public List texts(Seq filters) {
    List<String> texts = new ArrayList<>();
    for (Expression filter : Scala.list(filters)) texts.add(json(filter));
    return texts;
  }

  /** Asks Python for the plan of a scan: its directories, and the writes that were published at that moment. */
  private JsonNode plan(Seq partitionFilters, Seq dataFilters) {
    List filters = Scala.list(partitionFilters);
    List<List> columns = new ArrayList<>();
    for (Expression filter : filters) {
      columns.add(filter.exists(new PartitionFilters.Dynamic()) ? new ArrayList<>() : names(filter.references()));
    }
    List texts = texts(partitionFilters);
    texts.addAll(texts(dataFilters));
    Map<String, Object> request = new HashMap<>();
    request.put("filters", texts);
    request.put("columns", columns);
    request.put("char_columns", charColumns());
    request.put("serde", sparkIndex == null ? table.storage().serde().get() : null);
    request.put("bucketed", bucketed());
    request.put("keys", Scala.list(table.partitionColumnNames()));
    request.put("is_query", session.sparkContext().getLocalProperty(NO_QUERY) == null);
    JsonNode answer = python.ask("scan", table.identifier(), request, null);
    while (answer.has("evaluate")) {
      String zone = session.sessionState().conf().sessionLocalTimeZone();
      SparkEvaluatedFilters evaluated = new SparkEvaluatedFilters(table, zone, !answer.get("state").isNull());
      for (JsonNode group : answer.get("evaluate")) evaluated.evaluate(group, filters);
      request.put("pushed_filters", evaluated.pushedFilters());
      request.put("state", answer.get("state"));
      answer = python.ask("scan", table.identifier(), request, null);
    }
    return answer;
  }

  /** Whether the session uses buckets. */
  private boolean bucketed() {
    String enabled = session.sessionState().conf().getConfString("hive.bucket_execution_enabled", "true");
    return enabled.trim().equalsIgnoreCase("true");
  }

  private static String[] texts(JsonNode values) {
    String[] texts = new String[values.size()];
    for (int i = 0; i < texts.length; i++) texts[i] = ((JsonNode) values.get(i)).asText();
    return texts;
  }

  private static List names(AttributeSet references) {
    List<String> names = new ArrayList<>();
    for (Attribute column : Scala.list(references)) names.add(column.name());
    return names;
  }

  /**
   * Spark's index over the directories of the plan's partitions that pass the filters. `partitions` receives the
   * buckets of each directory.
   */
  private InMemoryFileIndex directories(JsonNode plan, Seq partitionFilters, Map partitions) {
    StructType schema = table.partitionSchema();
    PartitionFilters filters = new PartitionFilters(schema, partitionFilters);
    PartitionRows rows = new PartitionRows(table, schema, session.sessionState().conf().sessionLocalTimeZone());
    Configuration conf = session.sessionState().newHadoopConf();
    List<Path> rootPaths = new ArrayList<>();
    List<PartitionPath> partitionPaths = new ArrayList<>();
    FilesOutsideSkewDirectories outside = new FilesOutsideSkewDirectories(conf);
    for (JsonNode partition : plan.get("partitions")) {
      InternalRow row = rows.row(texts(partition.get("values")));
      if (!filters.accept(row)) continue;
      if (!partition.get("outside").isNull()) {
        Path location = qualified(new Path(partition.get("outside").asText()), conf);
        JsonNode pruned = (JsonNode) plan.get("pruned").get(partition.get("storage").asInt());
        outside.add(location, new PartitionPath(row, location), pruned, partition.get("unplaced").asBoolean());
      }
      for (JsonNode directory : partition.get("directories")) {
        Path path = qualified(new Path(directory.asText()), conf);
        rootPaths.add(path);
        partitions.put(path, partition.get("bucketing"));
        partitionPaths.add(new PartitionPath(row, path));
      }
    }
    outside.list(rootPaths, partitionPaths);
    new DirectoryLister(session, conf).list(rootPaths, outside);
    InMemoryFileIndex index = index(rootPaths, partitionPaths, outside);
    boolean added = outside.addSubDirectories(rootPaths, partitionPaths, partitions);
    return added ? index(rootPaths, partitionPaths, outside) : index;
  }

  private InMemoryFileIndex index(List rootPaths, List partitionPaths, FilesOutsideSkewDirectories listed) {
    StructType schema = table.partitionSchema();
    PartitionSpec spec = new PartitionSpec(schema, Scala.seq(partitionPaths));
    return new InMemoryFileIndex(
        session, Scala.seq(rootPaths), Map$.MODULE$.empty(), Option.apply(schema), listed, Option.apply(spec),
        Option.empty());
  }

  /** The columns of type char(n). */
  private List charColumns() {
    List<String> names = new ArrayList<>();
    for (StructField field : table.schema().fields()) {
      Option type = CharVarcharUtils.getRawType(field.metadata());
      if (type.isDefined() && type.get() instanceof CharType) names.add(field.name());
    }
    return names;
  }

  /** Catalyst's JSON of an expression. Null if the JSON would be incomplete (collations) or cannot be written. */
  private static String json(Expression filter) {
    try {
      return filter.exists(new Collated()) ? null : ((Expression) filter.transformUp(new InSetAsIn())).toJSON();
    } catch (Exception unwritable) {
      return null;
    }
  }

  /** The path as Spark's listing returns it. */
  static Path qualified(Path path, Configuration conf) {
    try {
      return path.getFileSystem(conf).makeQualified(path);
    } catch (IOException unreachable) {
      Platform.throwException(unreachable);
      return null;
    }
  }

  /** Finds strings that are not compared byte by byte. */
  private static final class Collated extends AbstractFunction1 {
    public Object apply(Object node) {
      try {
        return SparkVersions.isCollated(((Expression) node).dataType());
      } catch (Exception untyped) {
        return false;
      }
    }
  }

  /** Replaces InSet, whose values are missing in Catalyst's JSON, by In. Spark makes an InSet of a long IN list. */
  private static final class InSetAsIn extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof InSet;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      InSet set = (InSet) node;
      List<Literal> literals = new ArrayList<>();
      for (Object value : Scala.list(set.hset())) literals.add(new Literal(value, set.child().dataType()));
      return new In(set.child(), Scala.seq(literals));
    }
  }
}
