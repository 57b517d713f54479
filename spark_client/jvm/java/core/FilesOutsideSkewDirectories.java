package spark_client.core;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
 * well; it takes what it finds here instead. Where the metastore knows no directory of a heavy value, those that are
 * there are read, too: partitions may be added over files that it cannot look at.
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
  private final Set<Path> unplaced = new HashSet<>();
  private final Map<Path, FileStatus[]> found = new ConcurrentHashMap<>();
  private final Map<Path, List> unknown = new ConcurrentHashMap<>(); // directories, by location
  private final Map<Path, Path> below = new LinkedHashMap<>(); // to the partition's location

  public FilesOutsideSkewDirectories(Configuration conf) {
    this.conf = conf;
  }

  /** A partition's own location; `isUnplaced`: the metastore knows no directory of a heavy value there. */
  public void ask(Path location, PartitionPath partition, JsonNode prunedNames, boolean isUnplaced) {
    asked.put(location, partition);
    if (isUnplaced) unplaced.add(location);
    pruned.put(location, prunedNames);
  }

  /** Lists all that were asked for, several at a time, and adds those in which there is something to read. */
  public void list(List rootPaths, List partitionPaths) {
    new ArrayList(asked.keySet()).parallelStream().forEach(new Listing(this));
    for (Path location : asked.keySet()) {
      PartitionPath partition = (PartitionPath) asked.get(location);
      for (Object directory : (List) unknown.get(location)) {
        rootPaths.add(directory);
        partitionPaths.add(new PartitionPath(partition.values(), (Path) directory));
      }
      if (((FileStatus[]) found.get(location)).length == 0) continue;
      rootPaths.add(location);
      partitionPaths.add(partition);
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
    JsonNode prunedNames = (JsonNode) pruned.get(location);
    List<FileStatus> files = new ArrayList<>();
    List<Path> directories = new ArrayList<>();
    try {
      for (FileStatus file : location.getFileSystem(conf).listStatus(location)) {
        String name = file.getPath().getName();
        if (file.isFile() && isRead(name, prunedNames)) files.add(file);
        if (file.isDirectory() && unplaced.contains(location)) addUnknown(file.getPath(), name, prunedNames, directories);
      }
    } catch (FileNotFoundException none) {
      // A partition without files need not have a directory.
    }
    found.put(location, files.toArray(new FileStatus[0]));
    unknown.put(location, directories);
  }

  /** One directory for each skewed column: `x=1/s=a`, of which the name of a file of the flat layout would begin so. */
  private void addUnknown(Path directory, String below, JsonNode prunedNames, List directories) throws IOException {
    String name = directory.getName();
    if (name.indexOf('=') < 1 || name.endsWith("=") || !isRead(name, null)) return;
    for (JsonNode prefix : prunedNames) if (prefix.asText().equals("skew." + below + "=")) return;
    boolean isLast = true;
    for (FileStatus child : directory.getFileSystem(conf).listStatus(directory)) {
      String next = child.getPath().getName();
      if (!child.isDirectory() || next.indexOf('=') < 1) continue;
      isLast = false;
      addUnknown(child.getPath(), below + "," + next, prunedNames, directories);
    }
    if (isLast) directories.add(directory);
  }

  private static boolean isRead(String name, JsonNode prunedNames) {
    if (name.startsWith("_") || name.startsWith(".")) return false;
    if (prunedNames == null) return true;
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
