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
 * The line to Python: one JSON text and whatever Python is to look into itself (or null) there, one JSON text back.
 * Python answers {"error": one line} instead of raising, for a Python traceback inside a Java one is not for the user.
 */
public final class Python {
  /** An answer that says nothing. */
  public static final JsonNode NOTHING = JsonNodeFactory.instance.objectNode();

  private static final ObjectMapper JSON =
      new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
  /** Of the 8,192 bytes that Py4J's buffer has, those for a text. */
  private static final int AT_ONCE = 8000;

  private static final int MOST_PIECES = 50;

  private final BiFunction python;
  private final Map<String, ClassLoader> loaders = new ConcurrentHashMap<>();

  public Python(BiFunction python) {
    this.python = python;
  }

  /**
   * A new object of a class that others need not have: `capability` names its directory, which Python compiles when it
   * is first asked for.
   */
  public Object make(String capability, String name, Object... arguments) {
    try {
      ClassLoader loader = (ClassLoader) loaders.get(capability);
      if (loader == null) loaders.put(capability, loader = load(capability));
      Class found = loader.loadClass("spark_client." + capability + "." + name);
      return found.getConstructors()[0].newInstance(arguments);
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

  public JsonNode ask(String what, TableIdentifier table, Map request, Object subject) {
    request.put("request", what);
    if (table != null) {
      request.put("database", table.database().get());
      request.put("table", table.table());
    }
    try {
      JsonNode reply = JSON.readTree((String) python.apply(sent(JSON.writeValueAsString(request)), subject));
      if (reply.has("error")) throw new QueryExecutionException(reply.get("error").asText(), null);
      return reply;
    } catch (Exception failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  /**
   * The text, or pieces of it for Python to fetch: what Py4J cannot write at once, and what is not large either, waits
   * 40 ms until the other side's TCP acknowledges its beginning.
   */
  private static Object sent(String text) {
    int size = text.length();
    for (int i = 0; i < text.length(); i++) if (text.charAt(i) == '\\') size++;
    if (size <= AT_ONCE || size > MOST_PIECES * AT_ONCE) return text;
    List<String> pieces = new ArrayList<>();
    int step = AT_ONCE / 2;
    for (int i = 0; i < text.length(); i += step) pieces.add(text.substring(i, Math.min(i + step, text.length())));
    return pieces;
  }
}
