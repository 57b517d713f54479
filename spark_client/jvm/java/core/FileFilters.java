package spark_client.core;

import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import scala.Product;

/**
 * Widens pushed-down filters so that files return every row that Spark wants.
 *
 * For Spark, -0.0 equals 0.0. In the statistics and dictionaries of Parquet and ORC they differ, and -0.0 is smaller.
 * Spark applies the original filters to the rows that are read.
 */
final class FileFilters {
  /** A filter that is true wherever the given one is, with both zeros, or null if there is none. */
  static Filter widened(Filter filter) {
    if (filter instanceof And) {
      Filter left = widened(((And) filter).left()), right = widened(((And) filter).right());
      return left == null ? right : right == null ? left : new And(left, right);
    }
    if (filter instanceof Or) {
      Filter left = widened(((Or) filter).left()), right = widened(((Or) filter).right());
      return left == null || right == null ? null : new Or(left, right);
    }
    // Files find rows above or below either zero, and at most a zero in addition.
    if (!hasZero(filter) || filter instanceof GreaterThan || filter instanceof LessThan) return filter;
    if (filter instanceof EqualTo) {
      EqualTo equal = (EqualTo) filter;
      return new And(atLeast(equal.attribute(), equal.value()), atMost(equal.attribute(), equal.value()));
    }
    if (filter instanceof GreaterThanOrEqual) {
      return atLeast(((GreaterThanOrEqual) filter).attribute(), ((GreaterThanOrEqual) filter).value());
    }
    if (filter instanceof LessThanOrEqual) {
      return atMost(((LessThanOrEqual) filter).attribute(), ((LessThanOrEqual) filter).value());
    }
    return null;
  }

  /**
   * A filter for ORC that is true wherever the given one is, or null if there is none.
   *
   * ORC's statistics of a field do not count the rows whose struct is null, so ORC finds no null there.
   */
  static Filter withoutNullFields(Filter filter) {
    if (filter instanceof And) {
      Filter left = withoutNullFields(((And) filter).left()), right = withoutNullFields(((And) filter).right());
      return left == null ? right : right == null ? left : new And(left, right);
    }
    if (filter instanceof Or) {
      Filter left = withoutNullFields(((Or) filter).left()), right = withoutNullFields(((Or) filter).right());
      return left == null || right == null ? null : new Or(left, right);
    }
    boolean mayAcceptNull = filter instanceof IsNull || filter instanceof EqualNullSafe || filter instanceof Not;
    return mayAcceptNull && namesField(filter) ? null : filter;
  }

  /** Whether a filter names a field of a struct: a dot outside of backquotes. */
  private static boolean namesField(Filter filter) {
    for (String name : filter.references()) {
      if (name.replaceAll("`[^`]*`", "").contains(".")) return true;
    }
    return false;
  }

  private static Filter atLeast(String column, Object zero) {
    return new GreaterThanOrEqual(column, zero instanceof Float ? (Object) Float.valueOf(-0.0f) : (Object) Double.valueOf(-0.0));
  }

  private static Filter atMost(String column, Object zero) {
    return new LessThanOrEqual(column, zero instanceof Float ? (Object) Float.valueOf(0.0f) : (Object) Double.valueOf(0.0));
  }

  /** Whether a filter, or the values of an IN, contains a float or double zero. */
  private static boolean hasZero(Object part) {
    if (part instanceof Float || part instanceof Double) return ((Number) part).doubleValue() == 0.0;
    if (part instanceof Object[]) {
      for (Object value : (Object[]) part) if (hasZero(value)) return true;
    }
    if (part instanceof Filter) {
      Product filter = (Product) part;
      for (int i = 0; i < filter.productArity(); i++) if (hasZero(filter.productElement(i))) return true;
    }
    return false;
  }
}
