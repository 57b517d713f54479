package spark_client.core;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Shell;

/**
 * Many operations on Hadoop's file systems at once: file systems far away answer slowly, and each call from Python costs
 * as much as a rename. Locations are texts between NULs, as are the answers: nothing where all is well.
 */
public final class FileOperations {
  private final Configuration conf;
  private final int streams;

  public FileOperations(Configuration conf, Integer streams) {
    this.conf = conf;
    this.streams = streams;
  }

  /** `operation` is one of those of `Operation`; `places` two locations, or one and nothing, for each. */
  public String run(String operation, String places, String word) throws Exception {
    String[] pairs = places.split("\0", -1);
    ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(streams, pairs.length / 2)));
    try {
      List<Operation> operations = new ArrayList<>();
      for (int i = 0; i + 1 < pairs.length; i += 2) {
        operations.add(new Operation(operation, pairs[i], pairs[i + 1], word, conf));
      }
      List<Object> answers = new ArrayList<>();
      for (Future answer : pool.invokeAll(operations)) answers.add(answer.get());
      return String.join("\0", answers);
    } finally {
      pool.shutdown();
    }
  }

  private static final class Operation implements Callable {
    private final String name;
    private final Path path;
    private final String other;
    private final String word;
    private final Configuration conf;

    Operation(String name, String location, String other, String word, Configuration conf) {
      this.name = name;
      this.path = new Path(location);
      this.other = other;
      this.word = word;
      this.conf = conf;
    }

    public Object call() {
      try {
        FileSystem system = path.getFileSystem(conf);
        switch (name) {
          case "rename": return rename(system, path, new Path(other));
          case "copy": return copy(system, path, new Path(other));
          case "restore": return restore(system, path, new Path(other));
          case "find": return system.exists(path) ? "" : "it is not there any more";
          case "make": return make(system, path) ? "" : "the file system refused";
          case "prune": return prune(system);
          case "foreign": return foreign(system);
          case "names": return names(system);
          case "mark": return mark(system);
          case "unmark": return unmark(system);
          case "clear": return clear(system);
          default: return "there is no operation " + name;
        }
      } catch (Exception failure) {
        return String.valueOf(failure).split("\n")[0];
      }
    }

    /** Another writer may take away what had become empty above it at this moment. */
    private boolean make(FileSystem system, Path path) throws Exception {
      if (system instanceof LocalFileSystem && !Shell.WINDOWS) makeLocal(((LocalFileSystem) system).pathToFile(path));
      return system.mkdirs(path) || system.mkdirs(path) || system.mkdirs(path);
    }

    /** With the permissions that Hadoop gives, which starts a `chmod` for each new directory. */
    private void makeLocal(File directory) throws Exception {
      if (directory.exists()) return;
      makeLocal(directory.getParentFile());
      if (!directory.mkdir()) return;
      String allowed = FsPermission.getDirDefault().applyUMask(FsPermission.getUMask(conf)).toString();
      Files.setPosixFilePermissions(directory.toPath(), PosixFilePermissions.fromString(allowed));
    }

    /** Into a directory that is there already, all that is in the source. */
    private static String rename(FileSystem system, Path source, Path target) throws Exception {
      if (!system.exists(target)) {
        if (system.rename(source, target)) return "";
        return system.exists(source) ? "the file system refused" : "it is not there any more";
      }
      return system.getFileStatus(source).isDirectory() ? merge(system, source, target, "") : target + " is in the way";
    }

    private String copy(FileSystem system, Path source, Path target) throws Exception {
      return FileUtil.copy(system, source, target.getFileSystem(conf), target, false, conf) ? "" : "the file system refused";
    }

    /** What does not hold the word stays: others have put it there meanwhile. Without a word, all goes back. */
    private String restore(FileSystem system, Path source, Path target) throws Exception {
      // It was not moved yet, or is back already; else somebody has taken it elsewhere.
      if (!system.exists(source)) return system.exists(target) ? "" : source + " is not there any more";
      if (!word.isEmpty() && system.getFileStatus(source).isDirectory()) return merge(system, source, target, word);
      return system.mkdirs(target.getParent()) ? rename(system, source, target) : "the file system refused";
    }

    private static String merge(FileSystem system, Path source, Path target, String word) throws Exception {
      system.mkdirs(target);
      for (FileStatus status : system.listStatus(source)) {
        Path child = status.getPath(), place = new Path(target, child.getName());
        if (!status.isDirectory() && !child.getName().contains(word)) continue;
        String error = status.isDirectory() ? merge(system, child, place, word) : rename(system, child, place);
        if (!error.isEmpty()) return error;
      }
      if (system.listStatus(source).length == 0) system.delete(source, false);
      return "";
    }

    /** Deletes a directory in which nothing is, and those above it, up to the one that is named. */
    private String prune(FileSystem system) throws Exception {
      Path top = new Path(other);
      try {
        for (Path each = path; each.depth() > top.depth() && system.listStatus(each).length == 0; each = each.getParent()) {
          if (!system.delete(each, false)) break;
        }
      } catch (FileNotFoundException gone) {
        return "";
      }
      return "";
    }

    /** Of the visible files of the directory, a slash before each. */
    private String names(FileSystem system) throws Exception {
      StringBuilder names = new StringBuilder();
      try {
        for (FileStatus status : system.listStatus(path)) {
          String child = status.getPath().getName();
          if (status.isFile() && !child.startsWith("_") && !child.startsWith(".")) names.append('/').append(child);
        }
      } catch (FileNotFoundException none) {
        return "";
      }
      return names.toString();
    }

    /** Puts a file into the directory whose name begins so and ends with the word, unless one is there that begins so. */
    private String mark(FileSystem system) throws Exception {
      try {
        for (FileStatus child : system.listStatus(path)) if (child.getPath().getName().startsWith(other)) return "";
      } catch (FileNotFoundException none) {
        // The file makes its directory.
      }
      OutputStream mark = system.create(new Path(path, other + word), true);
      mark.write(other.getBytes("UTF-8")); // whatever is not empty is read
      mark.close();
      return "";
    }

    private String unmark(FileSystem system) throws Exception {
      system.delete(new Path(path, other + word), false);
      return "";
    }

    /** Deletes the files of the directory whose names begin so. */
    private String clear(FileSystem system) throws Exception {
      try {
        for (FileStatus child : system.listStatus(path)) {
          if (child.getPath().getName().startsWith(other)) system.delete(child.getPath(), false);
        }
      } catch (FileNotFoundException none) {
        return "";
      }
      return "";
    }

    /** A child of the directory whose name does not hold the word; without a word, any. */
    private String foreign(FileSystem system) throws Exception {
      try {
        for (FileStatus status : system.listStatus(path)) {
          String child = status.getPath().getName();
          if (word.isEmpty() || !child.contains(word)) return child;
        }
      } catch (FileNotFoundException free) {
        return "";
      }
      return "";
    }
  }
}
