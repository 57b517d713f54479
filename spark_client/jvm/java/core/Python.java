package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.unsafe.Platform;

/**
 * Sends requests to Python: a JSON text and objects of the JVM (or null). The answer is a JSON text.
 *
 * Python answers {"error": one line} instead of raising, so that users do not see a Python traceback inside a Java one.
 * With "condition" and "sql_state", the error is a ClientException.
 */
public final class Python {
  /** An empty answer. */
  public static final JsonNode NOTHING = JsonNodeFactory.instance.objectNode();

  private static final ObjectMapper JSON =
      new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
  /** The part of Py4J's buffer of 8,192 bytes that is available for a text. */
  private static final int BUFFER_SIZE = 8000;

  private static final int MAX_PIECES = 50;

  private final BiFunction python;
  private final Map<String, ClassLoader> loaders = new ConcurrentHashMap<>();

  public Python(BiFunction python) {
    this.python = python;
  }

  /**
   * Creates an object of a class that is loaded on demand. `capability` names the directory of its source, which Python
   * compiles when it is first used.
   */
  public Object make(String capability, String name, Object... arguments) {
    try {
      ClassLoader loader = (ClassLoader) loaders.get(capability);
      if (loader == null) loaders.put(capability, loader = load(capability));
      Class loaded = loader.loadClass("spark_client." + capability + "." + name);
      return loaded.getConstructors()[0].newInstance(arguments);
    } catch (ReflectiveOperationException failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  private ClassLoader load(String capability) {
    Map<String, Object> request = new HashMap<>();
    request.put("capability", capability);
    List<ClassLoader> answer = new ArrayList<>();
    ask("capability", null, request, answer);
    return (ClassLoader) answer.get(0);
  }

  public JsonNode ask(String name, TableIdentifier table, Map request, Object objects) {
    request.put("request", name);
    if (table != null) {
      request.put("database", table.database().get());
      request.put("table", table.table());
    }
    try {
      JsonNode reply = JSON.readTree((String) python.apply(sent(JSON.writeValueAsString(request)), objects));
      if (reply.has("error")) throw failure(reply);
      return reply;
    } catch (Exception failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  /** The error of a reply. It has a condition if clients are to recognize it without reading its text. */
  private static Exception failure(JsonNode reply) {
    String text = reply.get("error").asText();
    if (!reply.has("condition")) return new QueryExecutionException(text, null);
    return new ClientException(text, reply.get("condition").asText(), reply.get("sql_state").asText());
  }

  /**
   * The text, or a list of its pieces that Python fetches.
   *
   * A text of medium size that does not fit into Py4J's buffer would wait 40 ms for the TCP acknowledgement of its
   * first part.
   */
  private static Object sent(String text) {
    int size = text.length();
    for (int i = 0; i < text.length(); i++) if (text.charAt(i) == '\\') size++;
    if (size <= BUFFER_SIZE || size > MAX_PIECES * BUFFER_SIZE) return text;
    List<String> pieces = new ArrayList<>();
    int step = BUFFER_SIZE / 2;
    for (int i = 0; i < text.length(); i += step) pieces.add(text.substring(i, Math.min(i + step, text.length())));
    return pieces;
  }
}
