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
 * Files in list-bucketed partitions outside of their skew directories.
 *
 * These are files of the flat layout, whose names contain their value, and files of writers that do not know skew.
 * Spark's index would also list the sub-directories, so it gets the files from this cache. If the metastore knows no
 * skew directory of a partition, existing ones are read as well: partitions can be added over files that the server
 * cannot see.
 *
 * In other partitions, Spark's index lists files in sub-directories but does not read them. Hive reads them if
 * mapreduce.input.fileinputformat.input.dir.recursive is set, which this library sets: an external partition may
 * contain another table's partition directories, and Hive's UNION ALL writes sub-directories.
 */
public final class FilesOutsideSkewDirectories extends FileStatusCache {
  private static final String RECURSIVE = "mapreduce.input.fileinputformat.input.dir.recursive";

  private final Configuration conf;
  private final Map<Path, PartitionPath> addedPartitions = new LinkedHashMap<>(); // by location
  private final Map<Path, JsonNode> pruned = new HashMap<>(); // by location: prefixes of file names to skip
  private final Set<Path> unplaced = new HashSet<>();
  private final Map<Path, FileStatus[]> listedFiles = new ConcurrentHashMap<>();
  // By location: skew directories that the metastore does not know.
  private final Map<Path, List> unknownDirectories = new ConcurrentHashMap<>();
  private final Map<Path, Path> subDirectories = new LinkedHashMap<>(); // sub-directory to partition location

  public FilesOutsideSkewDirectories(Configuration conf) {
    this.conf = conf;
  }

  /** Adds a partition's own location. `isUnplaced`: the metastore knows no skew directory of it. */
  public void add(Path location, PartitionPath partition, JsonNode prunedNames, boolean isUnplaced) {
    addedPartitions.put(location, partition);
    if (isUnplaced) unplaced.add(location);
    pruned.put(location, prunedNames);
  }

  /** Lists all added locations, several at a time, and appends those with files to read. */
  public void list(List rootPaths, List partitionPaths) {
    new ArrayList(addedPartitions.keySet()).parallelStream().forEach(new Listing(this));
    for (Path location : addedPartitions.keySet()) {
      PartitionPath partition = (PartitionPath) addedPartitions.get(location);
      for (Object directory : (List) unknownDirectories.get(location)) {
        rootPaths.add(directory);
        partitionPaths.add(new PartitionPath(partition.values(), (Path) directory));
      }
      if (((FileStatus[]) listedFiles.get(location)).length == 0) continue;
      rootPaths.add(location);
      partitionPaths.add(partition);
    }
  }

  public Option getLeafFiles(Path path) {
    return Option.apply(listedFiles.get(path));
  }

  /** Receives all files below a location from Spark's index. */
  public void putLeafFiles(Path location, FileStatus[] files) {
    listedFiles.put(location, files);
    for (FileStatus file : files) {
      Path directory = file.getPath().getParent();
      if (directory.equals(location) || !isVisible(directory, location)) continue;
      Path known = (Path) subDirectories.get(directory);
      if (known == null || known.depth() < location.depth()) subDirectories.put(directory, location);
    }
  }

  /** Appends the sub-directories of locations, and returns whether there are any. Bucketed partitions have none. */
  public boolean addSubDirectories(List rootPaths, List partitionPaths, Map buckets) {
    if (!conf.getBoolean(RECURSIVE, false)) return false;
    Map<Path, PartitionPath> partitions = new HashMap<>();
    for (Object known : partitionPaths) partitions.put(((PartitionPath) known).path(), (PartitionPath) known);
    boolean added = false;
    for (Map.Entry<Path, Path> entry : subDirectories.entrySet()) {
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
      // A partition without files may have no directory.
    }
    listedFiles.put(location, files.toArray(new FileStatus[0]));
    unknownDirectories.put(location, directories);
  }

  /**
   * Finds skew directories, with one level for each skewed column: `x=1/s=a`. Directories with a pruned prefix are
   * skipped.
   */
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
