package spark_client.buckets;

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
import spark_client.core.Buckets;
import spark_client.core.Python;
import spark_client.core.VisibleWrites;

/** Which files of a bucketed table a scan opens. What their names mean, and what is refused, Python knows. */
public final class BucketFiles implements Buckets {
  /** As Trino has it: beyond that, looking into the files is cheaper than hashing. */
  private static final int MOST_COMBINATIONS = 1000;

  private final SparkSession session;
  private final CatalogTable table;
  private final Python python;
  private final JsonNode declared;
  private final Map numbers = new HashMap();
  private Set kept;
  private long buckets;
  private int fewest = Integer.MAX_VALUE;
  private boolean exact;

  /** `declared`: {columns, count, version} as the metastore has them: Spark keeps a copy, which others do not change. */
  public BucketFiles(SparkSession session, CatalogTable table, Python python, JsonNode declared) {
    this.session = session;
    this.table = table;
    this.python = python;
    this.declared = declared;
  }

  public void choose(InMemoryFileIndex index, VisibleWrites writes, Map partitions, Seq filters) {
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
    request.put("declared", Integer.valueOf(declared.get("count").asInt()));
    JsonNode answer = python.ask("buckets", table.identifier(), request, null);
    buckets = answer.get("buckets").asLong();
    fewest = answer.get("fewest").asInt();
    exact = answer.get("exact").asBoolean();
    if (hashes != null) kept = new HashSet();
    for (int i = 0; i < files.size(); i++) {
      JsonNode told = (JsonNode) answer.get("numbers").get(i);
      for (int j = 0; j < told.size(); j++) {
        numbers.put(((List) files.get(i)).get(j), Integer.valueOf(((JsonNode) told.get(j)).asInt()));
      }
      if (hashes == null) continue;
      JsonNode positions = (JsonNode) answer.get("keep").get(i);
      for (int j = 0; j < positions.size(); j++) kept.add(((List) files.get(i)).get(((JsonNode) positions.get(j)).asInt()));
    }
  }

  private List hashes(Seq filters) {
    StructType types = types();
    if (version() == 0 || types == null) return null;
    return new BucketFilter(new BucketHash(version(), zone()), types)
        .hashes(filters, Math.max(4 * declared.get("count").asInt(), MOST_COMBINATIONS));
  }

  /** Of the hash: 1 or 2, 0 for what we do not know. */
  public int version() {
    String version = declared.get("version").asText();
    return version.equals("1") ? 1 : version.equals("2") ? 2 : 0;
  }

  /** The bucketing columns, of Hive's types; null if one is not there. */
  public StructType types() {
    StructType schema = CharVarcharUtils.getRawSchema(table.schema());
    StructType types = new StructType();
    for (Iterator i = declared.get("columns").elements(); i.hasNext();) {
      StructField field = field(schema, ((JsonNode) i.next()).asText());
      if (field == null) return null;
      types = types.add(field.name(), field.dataType());
    }
    return types;
  }

  /** In which timestamps have their wall clock. */
  public String zone() {
    return session.sessionState().conf().sessionLocalTimeZone();
  }

  private static StructField field(StructType schema, String name) {
    for (int i = 0; i < schema.length(); i++) {
      if (schema.fields()[i].name().equalsIgnoreCase(name)) return schema.fields()[i];
    }
    return null;
  }

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

  /** The bucket of a file, among its partition's. */
  public int number(Path file) {
    return ((Integer) numbers.get(file)).intValue();
  }

  /** The smallest number of buckets that a partition has, or the table: each other one is a multiple of it. */
  public int fewest() {
    return fewest;
  }

  /** Whether each row lies in the bucket that its file is of. */
  public boolean exact() {
    return exact;
  }

  public long buckets() {
    return buckets;
  }
}
