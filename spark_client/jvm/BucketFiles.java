package spark_client;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Which files of a bucketed table a scan opens. What their names mean, and what is refused, Python knows. */
public final class BucketFiles {
  /** As Trino has it: beyond that, looking into the files is cheaper than hashing. */
  private static final int MOST_COMBINATIONS = 1000;

  private final SparkSession session;
  private final CatalogTable table;
  private final Python python;
  private Set kept;
  private long buckets;

  public BucketFiles(SparkSession session, CatalogTable table, Python python) {
    this.session = session;
    this.table = table;
    this.python = python;
  }

  /** {columns, count} of the table, or null where buckets do not matter: it has none, or the session ignores them. */
  public Map declared() {
    boolean enabled = session.sessionState().conf().getConfString("hive.bucket_execution_enabled", "true")
        .trim().equalsIgnoreCase("true");
    if (!enabled || !table.bucketSpec().isDefined()) return null;
    BucketSpec spec = (BucketSpec) table.bucketSpec().get();
    Map declared = new HashMap();
    declared.put("columns", new ArrayList(CollectionConverters.asJava(spec.bucketColumnNames())));
    declared.put("count", Integer.valueOf(spec.numBuckets()));
    return declared;
  }

  /**
   * Finds the files of the buckets that the filters leave, among the visible files of an index, empty ones too.
   * `partitions`: for each of its directories, what Python has said of the partition's buckets.
   */
  public void choose(InMemoryFileIndex index, VisibleWrites writes, Map partitions, Seq filters) {
    if (declared() == null) return;
    Map directories = new LinkedHashMap();
    for (Iterator i = partitions.keySet().iterator(); i.hasNext();) directories.put(i.next(), new ArrayList());
    Map inside = new HashMap();
    for (Iterator i = CollectionConverters.asJava(index.leafFiles()).keySet().iterator(); i.hasNext();) {
      Path file = (Path) i.next();
      if (writes.hide(file.getName())) continue;
      List files = (List) directories.get(file.getParent());
      if (files != null) files.add(file);
      else put(inside, file.getParent(), directories);
    }
    ask(partitions, directories, inside, hashes(filters));
  }

  /** The outermost directory that lies in one of those that are read. */
  private static void put(Map inside, Path directory, Map directories) {
    for (Path each = directory; each.getParent() != null; each = each.getParent()) {
      if (directories.containsKey(each.getParent())) inside.put(each.getParent(), each.getName());
    }
  }

  private void ask(Map partitions, Map directories, Map inside, List hashes) {
    List questions = new ArrayList(), files = new ArrayList();
    for (Iterator i = directories.keySet().iterator(); i.hasNext();) {
      Path directory = (Path) i.next();
      List names = new ArrayList();
      for (Iterator j = ((List) directories.get(directory)).iterator(); j.hasNext();) names.add(((Path) j.next()).getName());
      Map question = new HashMap();
      question.put("partition", partitions.get(directory));
      question.put("names", names);
      question.put("directory", inside.get(directory));
      questions.add(question);
      files.add(directories.get(directory));
    }
    Map request = new HashMap();
    request.put("directories", questions);
    request.put("hashes", hashes);
    JsonNode answer = python.ask("buckets", table.identifier(), request, null);
    buckets = answer.get("buckets").asLong();
    if (hashes == null) return;
    kept = new HashSet();
    for (int i = 0; i < files.size(); i++) {
      JsonNode positions = (JsonNode) answer.get("keep").get(i);
      for (int j = 0; j < positions.size(); j++) kept.add(((List) files.get(i)).get(((JsonNode) positions.get(j)).asInt()));
    }
  }

  private List hashes(Seq filters) {
    String version = table.properties().contains("bucketing_version")
        ? ((String) table.properties().apply("bucketing_version")).trim() : "1";
    if (!version.equals("1") && !version.equals("2")) return null;
    BucketSpec spec = (BucketSpec) table.bucketSpec().get();
    StructType schema = CharVarcharUtils.getRawSchema(table.schema());
    StructType types = new StructType();
    for (Iterator i = CollectionConverters.asJava(spec.bucketColumnNames()).iterator(); i.hasNext();) {
      StructField field = field(schema, (String) i.next());
      if (field == null) return null;
      types = types.add(field);
    }
    String zone = session.sessionState().conf().sessionLocalTimeZone();
    return new BucketFilter(new BucketHash(Integer.parseInt(version), zone), types)
        .hashes(filters, Math.max(4 * spec.numBuckets(), MOST_COMBINATIONS));
  }

  private static StructField field(StructType schema, String name) {
    for (int i = 0; i < schema.length(); i++) {
      if (schema.fields()[i].name().equalsIgnoreCase(name)) return schema.fields()[i];
    }
    return null;
  }

  /** The files of a listing that are to be opened. */
  public Seq of(Seq directories) {
    if (kept == null) return directories;
    List chosen = new ArrayList();
    for (Iterator i = CollectionConverters.asJava(directories).iterator(); i.hasNext();) {
      PartitionDirectory directory = (PartitionDirectory) i.next();
      List files = new ArrayList();
      for (Iterator j = CollectionConverters.asJava(directory.files()).iterator(); j.hasNext();) {
        FileStatusWithMetadata file = (FileStatusWithMetadata) j.next();
        if (kept.contains(file.getPath())) files.add(file);
      }
      chosen.add(new PartitionDirectory(directory.values(), CollectionConverters.asScala(files).toSeq()));
    }
    return CollectionConverters.asScala(chosen).toSeq();
  }

  /** How many buckets these are, over all directories; 0 for a table without. */
  public long buckets() {
    return buckets;
  }
}
