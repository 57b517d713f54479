package spark_client.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;

/** What a statement has to know of its session. Each answer is one text, whose parts are separated by NUL characters. */
public final class SessionFacts {
  /** Names and values of the settings that are set, without those of Spark that are not about SQL. */
  public String settings(SparkSession session) {
    List<Object> texts = new ArrayList<>();
    for (Map.Entry setting : Scala.map(session.sessionState().conf().getAllConfs()).entrySet()) {
      String name = (String) setting.getKey();
      if (name.startsWith("spark.") && !name.startsWith("spark.sql.")) continue;
      texts.add(name);
      texts.add(setting.getValue());
    }
    return String.join("\0", texts);
  }

  /**
   * Query, number and run of the streaming batch whose function runs, or an empty text. The run is empty after the query
   * has ended.
   *
   * The running queries come from the state that all sessions share: a batch has its own session, which knows no queries.
   * The job group is initially the id of the run, but users may change it.
   */
  public String batch(SparkSession session) {
    SparkContext context = session.sparkContext();
    Map running = session.sharedState().activeStreamingQueries();
    // Local properties of a query's thread (StreamExecution, MicroBatchExecution).
    String query = context.getLocalProperty("sql.streaming.queryId");
    String number = context.getLocalProperty("streaming.sql.batchId");
    if (query != null && number != null) {
      StreamingQuery execution = (StreamingQuery) running.get(UUID.fromString(query));
      return query + "\0" + number + "\0" + (execution == null ? "" : execution.runId().toString());
    }
    // since 4.3 {
    // Statements of a Spark Connect client's function run in other threads, in the session of the batch.
    for (Object each : running.values()) {
      org.apache.spark.sql.execution.streaming.runtime.StreamExecution execution =
          (org.apache.spark.sql.execution.streaming.runtime.StreamExecution) each;
      if (!execution.sparkSessionForStream().equals(session)) continue;
      return execution.id() + "\0" + execution.getLatestExecutionContext().batchId() + "\0" + execution.runId();
    }
    // }
    return "";
  }
}
