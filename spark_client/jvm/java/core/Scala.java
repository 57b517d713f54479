package spark_client.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;

/** Conversions between Scala's and Java's collections that work with Scala 2.12 and 2.13. */
public final class Scala {
  public static Seq seq(Object... elements) {
    return seq(Arrays.asList(elements));
  }

  public static Seq seq(List elements) {
    scala.collection.immutable.List result = List$.MODULE$.empty();
    for (int i = elements.size() - 1; i >= 0; i--) result = new $colon$colon(elements.get(i), result);
    return result;
  }

  public static List list(scala.collection.Iterable elements) {
    List<Object> result = new ArrayList<>();
    for (Iterator i = elements.iterator(); i.hasNext();) result.add(i.next());
    return result;
  }

  /** The entries in the order of Scala's map. */
  public static Map map(scala.collection.Map entries) {
    Map<Object, Object> result = new LinkedHashMap<>();
    for (Tuple2 entry : list(entries)) result.put(entry._1(), entry._2());
    return result;
  }
}
