package spark_client.core;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex$;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/**
 * Lists directories as Spark's index does, but several at a time in the driver.
 *
 * Spark lists a few directories one by one, and more in a job with a task for each, which takes longer than the
 * listing.
 */
public final class DirectoryLister {
  private static final int STREAMS = 32;
  /** More directories are left to Spark's job if executors can list more at a time. */
  private static final int MAX_DIRECTORIES = 4096;

  private final SparkSession session;
  private final Configuration conf;

  public DirectoryLister(SparkSession session, Configuration conf) {
    this.session = session;
    this.conf = conf;
  }

  /**
   * Lists the directories that are not in the cache, and puts their files into the cache, where Spark's index finds
   * them.
   */
  public void list(List paths, FileStatusCache cache) {
    List<Path> unknown = new ArrayList<>();
    for (Object path : paths) if (!cache.getLeafFiles((Path) path).isDefined()) unknown.add((Path) path);
    // For more paths in one call, Spark would start a job.
    int maxPaths = session.sessionState().conf().parallelPartitionDiscoveryThreshold();
    int size = Math.min(maxPaths, (unknown.size() + STREAMS - 1) / STREAMS);
    if (unknown.size() < 2 || size < 1) return;
    if (unknown.size() > MAX_DIRECTORIES && session.sparkContext().defaultParallelism() > STREAMS) return;
    PathFilter filter = FileInputFormat.getInputPathFilter(new JobConf(conf));
    List<ListingTask> parts = new ArrayList<>();
    for (int i = 0; i < unknown.size(); i += size) {
      Seq part = Scala.seq(unknown.subList(i, Math.min(i + size, unknown.size())));
      parts.add(new ListingTask(part, conf, filter, session));
    }
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(STREAMS, parts.size()));
    try {
      Set<Object> requested = new HashSet<>(unknown);
      for (Future listed : pool.invokeAll(parts)) {
        for (Tuple2 listing : Scala.list((Seq) listed.get())) {
          // Results for other directories are below the requested ones: Spark can be configured to list level by level.
          if (requested.contains(listing._1())) cache.putLeafFiles((Path) listing._1(), files((Seq) listing._2()));
        }
      }
    } catch (ExecutionException failure) {
      Platform.throwException(failure.getCause());
    } catch (InterruptedException cancelled) {
      Platform.throwException(cancelled);
    } finally {
      pool.shutdownNow();
    }
  }

  private static FileStatus[] files(Seq listed) {
    return (FileStatus[]) Scala.list(listed).toArray(new FileStatus[0]);
  }

  private static final class ListingTask implements Callable {
    private final Seq paths;
    private final Configuration conf;
    private final PathFilter filter;
    private final SparkSession session;

    ListingTask(Seq paths, Configuration conf, PathFilter filter, SparkSession session) {
      this.paths = paths;
      this.conf = conf;
      this.filter = filter;
      this.session = session;
    }

    public Object call() {
      return InMemoryFileIndex$.MODULE$.bulkListLeafFiles(paths, conf, filter, session, Map$.MODULE$.empty());
    }
  }
}
