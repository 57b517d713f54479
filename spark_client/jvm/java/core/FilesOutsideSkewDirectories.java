package spark_client.core;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.unsafe.Platform;
import scala.Option;

/**
 * Files that lie in list-bucketed partitions themselves, beside their directories: those of the flat layout, whose names
 * say their value, and those of writers that know nothing of skew. Spark's index would list the directories below as
 * well; it takes what it finds here instead.
 *
 * And files of other partitions in directories below: Spark's index lists them, but reads none of them. They are rows to
 * Hive where it is told to look there, as by us: an external partition may be a directory with partitions of another
 * table, and Hive's UNION ALL writes such directories.
 */
public final class FilesOutsideSkewDirectories extends FileStatusCache {
  private static final String RECURSIVE = "mapreduce.input.fileinputformat.input.dir.recursive";

  private final Configuration conf;
  private final Map<Path, PartitionPath> asked = new LinkedHashMap<>(); // by location
  private final Map<Path, JsonNode> pruned = new HashMap<>(); // beginnings of names that are left out
  private final Map<Path, FileStatus[]> found = new ConcurrentHashMap<>();
  private final Map<Path, Path> below = new LinkedHashMap<>(); // to the partition's location

  public FilesOutsideSkewDirectories(Configuration conf) {
    this.conf = conf;
  }

  /** A partition's own location. */
  public void ask(Path location, PartitionPath partition, JsonNode prunedNames) {
    asked.put(location, partition);
    pruned.put(location, prunedNames);
  }

  /** Lists all that were asked for, several at a time, and adds those in which there is something to read. */
  public void list(List rootPaths, List partitionPaths) {
    new ArrayList(asked.keySet()).parallelStream().forEach(new Listing(this));
    for (Path location : asked.keySet()) {
      if (((FileStatus[]) found.get(location)).length == 0) continue;
      rootPaths.add(location);
      partitionPaths.add(asked.get(location));
    }
  }

  public Option getLeafFiles(Path path) {
    return Option.apply(found.get(path));
  }

  /** All files below a location, as Spark's index has listed them. */
  public void putLeafFiles(Path location, FileStatus[] files) {
    found.put(location, files);
    for (FileStatus file : files) {
      Path directory = file.getPath().getParent();
      if (directory.equals(location) || !isVisible(directory, location)) continue;
      Path known = (Path) below.get(directory);
      if (known == null || known.depth() < location.depth()) below.put(directory, location);
    }
  }

  /** Adds the directories below locations; false: there are none. Of buckets a directory holds nothing but their files. */
  public boolean addBelow(List rootPaths, List partitionPaths, Map buckets) {
    if (!conf.getBoolean(RECURSIVE, false)) return false;
    Map<Path, PartitionPath> partitions = new HashMap<>();
    for (Object known : partitionPaths) partitions.put(((PartitionPath) known).path(), (PartitionPath) known);
    boolean added = false;
    for (Map.Entry<Path, Path> entry : below.entrySet()) {
      Path directory = (Path) entry.getKey();
      Path location = (Path) entry.getValue();
      JsonNode bucketing = (JsonNode) buckets.get(location);
      if (partitions.containsKey(directory) || (bucketing != null && !bucketing.isNull())) continue;
      rootPaths.add(directory);
      partitionPaths.add(new PartitionPath(((PartitionPath) partitions.get(location)).values(), directory));
      buckets.put(directory, bucketing);
      added = true;
    }
    return added;
  }

  private static boolean isVisible(Path directory, Path location) {
    for (Path path = directory; path != null && !path.equals(location); path = path.getParent()) {
      if (path.getName().startsWith("_") || path.getName().startsWith(".")) return false;
    }
    return true;
  }

  public void invalidateAll() {}

  private void list(Path location) throws IOException {
    List<FileStatus> files = new ArrayList<>();
    try {
      for (FileStatus file : location.getFileSystem(conf).listStatus(location)) {
        if (file.isFile() && isRead(file.getPath().getName(), (JsonNode) pruned.get(location))) files.add(file);
      }
    } catch (FileNotFoundException none) {
      // A partition without files need not have a directory.
    }
    found.put(location, files.toArray(new FileStatus[0]));
  }

  private static boolean isRead(String name, JsonNode prunedNames) {
    if (name.startsWith("_") || name.startsWith(".")) return false;
    for (JsonNode prefix : prunedNames) if (name.startsWith(prefix.asText())) return false;
    return true;
  }

  private static final class Listing implements Consumer {
    private final FilesOutsideSkewDirectories files;

    Listing(FilesOutsideSkewDirectories files) {
      this.files = files;
    }

    public void accept(Object location) {
      try {
        files.list((Path) location);
      } catch (IOException unreadable) {
        Platform.throwException(unreadable);
      }
    }
  }
}
