package spark_client.core;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Shell;

/** Creates local directories with the permissions that Hadoop would set. Hadoop starts a `chmod` process for each. */
final class LocalDirectories {
  private LocalDirectories() {}

  /** Creates a directory and its parents, if the file system is local. */
  static void make(FileSystem system, Path path, Configuration conf) throws IOException {
    if (system instanceof LocalFileSystem && !Shell.WINDOWS) make(((LocalFileSystem) system).pathToFile(path), conf);
  }

  private static void make(File directory, Configuration conf) throws IOException {
    if (directory.exists()) return;
    make(directory.getParentFile(), conf);
    if (!directory.mkdir()) return;
    String allowed = FsPermission.getDirDefault().applyUMask(FsPermission.getUMask(conf)).toString();
    Files.setPosixFilePermissions(directory.toPath(), PosixFilePermissions.fromString(allowed));
  }
}
