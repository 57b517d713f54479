package spark_client.buckets;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import spark_client.core.BucketSelection;
import spark_client.core.Python;
import spark_client.core.Scala;
import spark_client.core.VisibleWrites;

/**
 * Selects the files of a bucketed table that a scan reads. Python knows the meaning of file names and rejects wrong
 * ones.
 */
public final class BucketFiles implements BucketSelection {
  /** Maximum number of value combinations to hash, as in Trino. Beyond it, reading the files is cheaper. */
  private static final int MAX_COMBINATIONS = 1000;

  private final SparkSession session;
  private final CatalogTable table;
  private final Python python;
  private final JsonNode declared;
  private final Map<Path, Integer> numbers = new HashMap<>();
  private Set<Path> kept;
  private long buckets;
  private int fewest = Integer.MAX_VALUE;
  private boolean exact;

  /** `declared`: {columns, count, version} from the metastore. Spark's copy of them misses changes by other clients. */
  public BucketFiles(SparkSession session, CatalogTable table, Python python, JsonNode declared) {
    this.session = session;
    this.table = table;
    this.python = python;
    this.declared = declared;
  }

  public void select(InMemoryFileIndex index, VisibleWrites writes, Map partitions, Seq filters) {
    Map<Path, List> directories = new LinkedHashMap<>();
    for (Object directory : partitions.keySet()) directories.put(directory, new ArrayList<>());
    Map<Path, String> inside = new HashMap<>();
    for (Path file : Scala.map(index.leafFiles()).keySet()) {
      if (writes.isHidden(file.getName())) continue;
      List files = (List) directories.get(file.getParent());
      if (files != null) files.add(file);
      else put(inside, file.getParent(), directories);
    }
    ask(partitions, directories, inside, hashes(filters));
  }

  /** Records the outermost sub-directory of a directory that is read. */
  private static void put(Map inside, Path directory, Map directories) {
    for (Path each = directory; each.getParent() != null; each = each.getParent()) {
      if (directories.containsKey(each.getParent())) inside.put(each.getParent(), each.getName());
    }
  }

  private void ask(Map partitions, Map directories, Map inside, List hashes) {
    List<Map> questions = new ArrayList<>();
    List<List> files = new ArrayList<>();
    for (Path directory : directories.keySet()) {
      List<String> names = new ArrayList<>();
      for (Path file : (List) directories.get(directory)) names.add(file.getName());
      Map<String, Object> question = new HashMap<>();
      question.put("partition", partitions.get(directory));
      question.put("names", names);
      question.put("directory", inside.get(directory));
      questions.add(question);
      files.add(directories.get(directory));
    }
    Map<String, Object> request = new HashMap<>();
    request.put("directories", questions);
    request.put("hashes", hashes);
    request.put("declared", declared.get("count").asInt());
    JsonNode answer = python.ask("buckets", table.identifier(), request, null);
    buckets = answer.get("buckets").asLong();
    fewest = answer.get("fewest").asInt();
    exact = answer.get("exact").asBoolean();
    if (hashes != null) kept = new HashSet<>();
    for (int i = 0; i < files.size(); i++) {
      List paths = (List) files.get(i);
      int file = 0;
      for (JsonNode number : (JsonNode) answer.get("numbers").get(i)) numbers.put(paths.get(file++), number.asInt());
      if (hashes == null) continue;
      for (JsonNode position : (JsonNode) answer.get("keep").get(i)) kept.add(paths.get(position.asInt()));
    }
  }

  private List hashes(Seq filters) {
    StructType types = types();
    if (version() == 0 || types == null) return null;
    return new BucketFilter(new BucketHash(version(), zone()), types)
        .hashes(filters, Math.max(4 * declared.get("count").asInt(), MAX_COMBINATIONS));
  }

  /** The version of the hash: 1 or 2, or 0 if it is unknown. */
  public int version() {
    String version = declared.get("version").asText();
    return version.equals("1") ? 1 : version.equals("2") ? 2 : 0;
  }

  /** The bucketing columns with their Hive types, or null if a column does not exist. */
  public StructType types() {
    StructType schema = CharVarcharUtils.getRawSchema(table.schema());
    StructType types = new StructType();
    for (JsonNode column : declared.get("columns")) {
      StructField field = field(schema, column.asText());
      if (field == null) return null;
      types = types.add(field.name(), field.dataType());
    }
    return types;
  }

  /** The time zone in which the hash reads the local time of timestamps. */
  public String zone() {
    return session.sessionState().conf().sessionLocalTimeZone();
  }

  private static StructField field(StructType schema, String name) {
    for (StructField field : schema.fields()) if (field.name().equalsIgnoreCase(name)) return field;
    return null;
  }

  public Seq selectedFiles(Seq directories) {
    if (kept == null) return directories;
    List<PartitionDirectory> chosen = new ArrayList<>();
    for (PartitionDirectory directory : Scala.list(directories)) {
      List<FileStatusWithMetadata> files = new ArrayList<>();
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        if (kept.contains(file.getPath())) files.add(file);
      }
      chosen.add(new PartitionDirectory(directory.values(), Scala.seq(files)));
    }
    return Scala.seq(chosen);
  }

  /** The bucket number of a file within its partition. */
  public int number(Path file) {
    return (Integer) numbers.get(file);
  }

  /** The smallest number of buckets of a partition or the table. Every other number is a multiple of it. */
  public int fewest() {
    return fewest;
  }

  /** Whether every row is in the bucket of its file's name. */
  public boolean exact() {
    return exact;
  }

  public long buckets() {
    return buckets;
  }
}
