package spark_client.core;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
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
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * The files of a table of Hive's. Each scan asks the metastore once for the directories that can hold matches;
 * Spark's own index then lists them and applies the partition filters exactly.
 */
public final class HiveTableIndex implements FileIndex {
  private final SparkSession session;
  private final CatalogTable table;
  private final Python python;

  public HiveTableIndex(SparkSession session, CatalogTable table, Python python) {
    this.session = session;
    this.table = table;
    this.python = python;
  }

  public Seq rootPaths() {
    List roots = new ArrayList();
    roots.add(new Path(table.location()));
    return seq(roots);
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    return list(partitionFilters, dataFilters).directories();
  }

  /** What a scan with these filters reads. */
  public Listing list(Seq partitionFilters, Seq dataFilters) {
    JsonNode plan = plan(partitionFilters, dataFilters);
    Map partitions = new HashMap();
    // Planned first, listed then: a file that comes in between belongs to a write that the plan does not see.
    InMemoryFileIndex index = directories(plan, partitionFilters, partitions);
    VisibleWrites writes = new VisibleWrites(plan.get("writes"));
    Seq visible = writes.of(index.listFiles(partitionFilters, dataFilters));
    JsonNode declared = plan.get("buckets");
    if (declared.isNull()) return new Listing(index, visible, null);
    Buckets buckets = (Buckets) python.make("buckets", "BucketFiles", new Object[] {session, table, python, declared});
    buckets.choose(index, writes, partitions, dataFilters);
    return new Listing(index, buckets.of(visible), buckets);
  }

  /** The files of a scan. */
  public static final class Listing {
    private final InMemoryFileIndex index;
    private final Seq directories;
    private final Buckets buckets;

    Listing(InMemoryFileIndex index, Seq directories, Buckets buckets) {
      this.index = index;
      this.directories = directories;
      this.buckets = buckets;
    }

    /** Of partitions, as Spark has them, with the files that are read. */
    public Seq directories() {
      return directories;
    }

    /** Null where buckets do not matter: the table has none, or the session ignores them. */
    public Buckets buckets() {
      return buckets;
    }
  }

  public String[] inputFiles() {
    Seq none = seq(new ArrayList());
    List names = new ArrayList();
    for (Iterator i = java(listFiles(none, none)); i.hasNext();) {
      for (Iterator j = java(((PartitionDirectory) i.next()).files()); j.hasNext();) {
        names.add(SparkPath.fromFileStatus(((FileStatusWithMetadata) j.next()).fileStatus()).urlEncoded());
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

  /** As the table's statistics say; unknown is too large to broadcast, as for every table of Hive's. */
  public long sizeInBytes() {
    if (table.stats().isDefined()) return ((CatalogStatistics) table.stats().get()).sizeInBytes().toLong();
    return session.sessionState().conf().defaultSizeInBytes();
  }

  public StructType partitionSchema() {
    return table.partitionSchema();
  }

  public boolean equals(Object other) {
    return other instanceof HiveTableIndex && table.identifier().equals(((HiveTableIndex) other).table.identifier());
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
    return measure(seq(new ArrayList()), seq(new ArrayList()));
  }

  /** What a scan with these filters reads: {partitions, directories, buckets, files, bytes}. */
  public Map measure(Seq partitionFilters, Seq dataFilters) {
    List known = new ArrayList();
    for (Iterator i = java(partitionFilters); i.hasNext();) {
      Expression filter = (Expression) i.next();
      if (!filter.exists(new PartitionFilters.Dynamic())) known.add(filter);
    }
    Listing listing = list(seq(known), dataFilters);
    Set rows = new HashSet();
    long directories = 0, files = 0, bytes = 0;
    for (Iterator i = java(listing.directories()); i.hasNext(); directories++) {
      PartitionDirectory directory = (PartitionDirectory) i.next();
      rows.add(directory.values());
      for (Iterator j = java(directory.files()); j.hasNext(); files++) {
        bytes += ((FileStatusWithMetadata) j.next()).getLen();
      }
    }
    if (table.partitionColumnNames().isEmpty()) directories = listing.index.rootPaths().size();
    Map measured = new HashMap();
    measured.put("partitions", Long.valueOf(rows.size()));
    measured.put("directories", Long.valueOf(directories));
    measured.put("buckets", Long.valueOf(listing.buckets == null ? 0 : listing.buckets.buckets()));
    measured.put("files", Long.valueOf(files));
    measured.put("bytes", Long.valueOf(bytes));
    return measured;
  }

  /** What the metastore says that has to be read, and which writes were published at that moment. */
  private JsonNode plan(Seq partitionFilters, Seq dataFilters) {
    Map request = new HashMap();
    List filters = new ArrayList(), texts = new ArrayList(), columns = new ArrayList();
    for (Iterator i = java(partitionFilters); i.hasNext();) {
      Expression filter = (Expression) i.next();
      filters.add(filter);
      columns.add(filter.exists(new PartitionFilters.Dynamic()) ? new ArrayList() : names(filter.references()));
    }
    for (Iterator i = filters.iterator(); i.hasNext();) texts.add(json((Expression) i.next()));
    for (Iterator i = java(dataFilters); i.hasNext();) texts.add(json((Expression) i.next()));
    request.put("filters", texts);
    request.put("columns", columns);
    request.put("padded", padded());
    request.put("serde", table.storage().serde().get());
    request.put("bucketed", Boolean.valueOf(bucketed()));
    request.put("keys", new ArrayList(CollectionConverters.asJava(table.partitionColumnNames())));
    JsonNode answer = python.ask("scan", table.identifier(), request, null);
    while (answer.has("undecided")) {
      String zone = session.sessionState().conf().sessionLocalTimeZone();
      UndecidedFilters undecided = new UndecidedFilters(table, zone, !answer.get("state").isNull());
      for (Iterator i = answer.get("undecided").elements(); i.hasNext();) undecided.judge((JsonNode) i.next(), filters);
      request.put("judged", undecided.judged());
      request.put("state", answer.get("state"));
      answer = python.ask("scan", table.identifier(), request, null);
    }
    return answer;
  }

  /** Whether the session wants to know of buckets. */
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
    List names = new ArrayList();
    for (Iterator i = CollectionConverters.asJava(references).iterator(); i.hasNext();) {
      names.add(((Attribute) i.next()).name());
    }
    return names;
  }

  /**
   * Spark's index over the directories of a plan, as far as its partitions pass the filters. `partitions` is filled
   * with what the plan says of the buckets of each directory.
   */
  private InMemoryFileIndex directories(JsonNode plan, Seq partitionFilters, Map partitions) {
    StructType schema = table.partitionSchema();
    PartitionFilters filters = new PartitionFilters(schema, partitionFilters);
    PartitionRows rows = new PartitionRows(table, schema, session.sessionState().conf().sessionLocalTimeZone());
    Configuration conf = session.sessionState().newHadoopConf();
    List rootPaths = new ArrayList(), partitionPaths = new ArrayList();
    FilesBeside beside = new FilesBeside(conf);
    for (Iterator i = plan.get("partitions").elements(); i.hasNext();) {
      JsonNode partition = (JsonNode) i.next();
      InternalRow row = rows.row(texts(partition.get("values")));
      if (!filters.accept(row)) continue;
      if (!partition.get("beside").isNull()) {
        Path own = qualified(partition.get("beside").asText(), conf);
        JsonNode pruned = (JsonNode) plan.get("pruned").get(partition.get("storage").asInt());
        beside.ask(own, new PartitionPath(row, own), pruned);
      }
      for (Iterator j = partition.get("directories").elements(); j.hasNext();) {
        Path path = qualified(((JsonNode) j.next()).asText(), conf);
        rootPaths.add(path);
        partitions.put(path, partition.get("bucketing"));
        partitionPaths.add(new PartitionPath(row, path));
      }
    }
    beside.list(rootPaths, partitionPaths);
    PartitionSpec spec = new PartitionSpec(schema, seq(partitionPaths));
    return new InMemoryFileIndex(
        session, seq(rootPaths), Map$.MODULE$.empty(), Option.apply(schema), beside, Option.apply(spec),
        Option.empty());
  }

  /** The columns of type char(n). */
  private List padded() {
    List names = new ArrayList();
    for (int i = 0; i < table.schema().length(); i++) {
      StructField field = table.schema().fields()[i];
      Option type = CharVarcharUtils.getRawType(field.metadata());
      if (type.isDefined() && type.get() instanceof CharType) names.add(field.name());
    }
    return names;
  }

  /** Catalyst's JSON of the expression, or null where it would not say all: collations, or what cannot be written. */
  private static String json(Expression filter) {
    try {
      return filter.exists(new Collated()) ? null : ((Expression) filter.transformUp(new InSetAsIn())).toJSON();
    } catch (Exception unwritable) {
      return null;
    }
  }

  /** As Spark's listing names it. */
  private static Path qualified(String location, Configuration conf) {
    Path path = new Path(location);
    try {
      return path.getFileSystem(conf).makeQualified(path);
    } catch (IOException unreachable) {
      Platform.throwException(unreachable);
      return null;
    }
  }

  private static Seq seq(List list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  private static Iterator java(Seq seq) {
    return CollectionConverters.asJava(seq).iterator();
  }

  /** Strings that are not compared byte by byte. */
  private static final class Collated extends AbstractFunction1 {
    public Object apply(Object node) {
      try {
        DataType type = ((Expression) node).dataType();
        return Boolean.valueOf(type instanceof StringType && !((StringType) type).supportsBinaryEquality());
      } catch (Exception untyped) {
        return Boolean.FALSE;
      }
    }
  }

  /** A long IN list becomes a set, which Catalyst's JSON leaves out. */
  private static final class InSetAsIn extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof InSet;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      InSet set = (InSet) node;
      List literals = new ArrayList();
      for (Iterator i = CollectionConverters.asJava(set.hset()).iterator(); i.hasNext();) {
        literals.add(new Literal(i.next(), set.child().dataType()));
      }
      return new In(set.child(), seq(literals));
    }
  }
}
