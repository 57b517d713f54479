package spark_client;

import java.util.Map;
import java.util.function.BiFunction;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.unsafe.Platform;

/**
 * The line to Python: one JSON text and whatever Python is to look into itself (or null) there, one JSON text back.
 * Python answers {"error": one line} instead of raising, for a Python traceback inside a Java one is not for the user.
 */
public final class Python {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final BiFunction python;

  public Python(BiFunction python) {
    this.python = python;
  }

  public JsonNode ask(String what, TableIdentifier table, Map request, Object subject) {
    request.put("request", what);
    if (table != null) {
      request.put("database", table.database().get());
      request.put("table", table.table());
    }
    try {
      JsonNode reply = JSON.readTree((String) python.apply(JSON.writeValueAsString(request), subject));
      if (reply.has("error")) throw new QueryExecutionException(reply.get("error").asText(), null);
      return reply;
    } catch (Exception failure) {
      Platform.throwException(failure);
      return null;
    }
  }
}
