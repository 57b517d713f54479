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

/** Between Scala's collections and Java's, in words that Scala 2.12 and 2.13 have in common. */
public final class Scala {
  public static Seq seq(Object... elements) {
    return seq(Arrays.asList(elements));
  }

  public static Seq seq(List elements) {
    scala.collection.immutable.List made = List$.MODULE$.empty();
    for (int i = elements.size() - 1; i >= 0; i--) made = new $colon$colon(elements.get(i), made);
    return made;
  }

  public static List list(scala.collection.Iterable elements) {
    List<Object> made = new ArrayList<>();
    for (Iterator i = elements.iterator(); i.hasNext();) made.add(i.next());
    return made;
  }

  /** In the order in which Scala's map tells its entries. */
  public static Map map(scala.collection.Map entries) {
    Map<Object, Object> made = new LinkedHashMap<>();
    for (Tuple2 entry : list(entries)) made.put(entry._1(), entry._2());
    return made;
  }
}
