package spark_client.core;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;

/** Counts the rows of the files of a write. It reads several file footers at a time and needs no Spark job. */
final class FileRows {
  private final Configuration conf;
  private final int streams;

  FileRows(Configuration conf, int streams) {
    this.conf = conf;
    this.streams = streams;
  }

  /**
   * Returns relative path, bytes and rows of each visible file below a directory, separated by NUL characters.
   *
   * `format`: parquet, orc, or other for files whose rows are not counted: 0.
   * `total`: the rows of all files if they are known, else -1. The footer of a single file is not read then.
   */
  String count(String directory, String format, long total) throws Exception {
    Path root = new Path(directory);
    int start = root.toUri().getPath().length() + 1;
    ParquetReadOptions options = HadoopReadOptions.builder(conf).build();
    List<File> files = new ArrayList<>();
    for (FileStatus status : below(root.getFileSystem(conf), root)) {
      String name = status.getPath().getName();
      if (!name.startsWith("_") && !name.startsWith(".")) files.add(new File(status, format, start, conf, options));
    }
    if (total >= 0 && files.size() == 1) return ((File) files.get(0)).answer(total);
    ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(streams, files.size())));
    try {
      List<Object> answers = new ArrayList<>();
      for (Future answer : pool.invokeAll(files)) answers.add(answer.get());
      return String.join("\0", answers);
    } finally {
      pool.shutdown();
    }
  }

  /**
   * All files below a directory. Hadoop's recursive listing starts an `ls` process for the permissions of each local
   * file.
   */
  private static List<FileStatus> below(FileSystem system, Path directory) throws Exception {
    List<FileStatus> files = new ArrayList<>();
    if (system instanceof LocalFileSystem) {
      for (FileStatus status : system.listStatus(directory)) {
        if (status.isDirectory()) files.addAll(below(system, status.getPath()));
        else files.add(status);
      }
      return files;
    }
    RemoteIterator listing = system.listFiles(directory, true);
    while (listing.hasNext()) files.add((FileStatus) listing.next());
    return files;
  }

  private static final class File implements Callable {
    private final FileStatus status;
    private final String format;
    private final int start;
    private final Configuration conf;
    private final ParquetReadOptions options;

    File(FileStatus status, String format, int start, Configuration conf, ParquetReadOptions options) {
      this.status = status;
      this.format = format;
      this.start = start;
      this.conf = conf;
      this.options = options;
    }

    public Object call() throws Exception {
      return answer(format.equals("other") ? 0 : format.equals("orc") ? orc(status, conf) : parquet(status, conf, options));
    }

    String answer(long rows) {
      return status.getPath().toUri().getPath().substring(start) + "\0" + status.getLen() + "\0" + rows;
    }
  }

  /** Returns the rows of a file of `parquet` or `orc`, from its footer. */
  static long rows(FileStatus status, String format, Configuration conf) throws Exception {
    return format.equals("orc") ? orc(status, conf) : parquet(status, conf, HadoopReadOptions.builder(conf).build());
  }

  private static long parquet(FileStatus status, Configuration conf, ParquetReadOptions options) throws Exception {
    ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromStatus(status, conf), options);
    try {
      return reader.getRecordCount();
    } finally {
      reader.close();
    }
  }

  private static long orc(FileStatus status, Configuration conf) throws Exception {
    Reader reader = OrcFile.createReader(status.getPath(), OrcFile.readerOptions(conf));
    try {
      return reader.getNumberOfRows();
    } finally {
      reader.close();
    }
  }
}
