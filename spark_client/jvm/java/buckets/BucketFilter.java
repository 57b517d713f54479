package spark_client.buckets;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.collection.immutable.Seq;
import spark_client.core.Scala;
import spark_client.core.SparkVersions;

/**
 * Computes the bucket hashes that rows which match filters can have.
 *
 * That is possible if the filters restrict each bucketing column to a finite set of values. The hash is the one that
 * writers use.
 */
public final class BucketFilter {
  private static final int FIRST_GREGORIAN_DAY = -141427;

  private final StructType types;
  private final Expression hash;

  /** `types`: the bucketing columns with their Hive types. */
  public BucketFilter(BucketHash hasher, StructType types) {
    this.types = types;
    List<Expression> columns = new ArrayList<>();
    for (int i = 0; i < types.length(); i++) {
      DataType type = CharVarcharUtils.replaceCharVarcharWithString(types.fields()[i].dataType());
      columns.add(new BoundReference(i, type, true));
    }
    Expression hash;
    try {
      hash = hasher.hash(columns, types);
    } catch (IllegalArgumentException unknown) {
      hash = null;
    }
    this.hash = hash;
  }

  /** The possible hashes, or null if any hash is possible or there are more than `limit` combinations of values. */
  public List hashes(Seq filters, int limit) {
    if (hash == null) return null;
    Set[] values = new Set[types.length()];
    for (Expression filter : Scala.list(filters)) values = intersection(values, values(filter));
    long combinations = 1;
    for (Set possible : values) {
      if (possible == null) return null;
      combinations *= possible.size();
      if (combinations > limit) return null;
    }
    Set<Object> results = new HashSet<>();
    add(results, values, new Object[values.length], 0);
    return new ArrayList<>(results);
  }

  private void add(Set results, Set[] values, Object[] row, int column) {
    if (column == row.length) {
      results.add(hash.eval(new GenericInternalRow(row)));
      return;
    }
    for (Object value : values[column]) {
      row[column] = value;
      add(results, values, row, column + 1);
    }
  }

  /** For each bucketing column the values for which the filter can be true, or null if that can be any value. */
  private Set[] values(Expression filter) {
    if (filter instanceof And) return intersection(values(((And) filter).left()), values(((And) filter).right()));
    if (filter instanceof Or) return union(values(((Or) filter).left()), values(((Or) filter).right()));
    if (filter instanceof EqualTo) return equal(((EqualTo) filter).left(), ((EqualTo) filter).right(), false);
    if (filter instanceof EqualNullSafe) {
      return equal(((EqualNullSafe) filter).left(), ((EqualNullSafe) filter).right(), true);
    }
    if (filter instanceof IsNull) return restricted(((IsNull) filter).child(), Arrays.asList((Object) null), null);
    if (filter instanceof In) return in((In) filter);
    if (filter instanceof InSet) {
      InSet in = (InSet) filter;
      return restricted(in.child(), withoutNull(Scala.list(in.hset())), in.child().dataType());
    }
    if (filter instanceof Not) return booleanColumn(((Not) filter).child(), false);
    return booleanColumn(filter, true);
  }

  private Set[] equal(Expression left, Expression right, boolean nullSafe) {
    if (left instanceof Literal) return equal(right, left, nullSafe);
    if (!(right instanceof Literal)) return unrestricted();
    Literal literal = (Literal) right;
    if (right instanceof Literal && literal.value() == null && !nullSafe) return unrestricted();
    return restricted(left, Arrays.asList(literal.value()), literal.dataType());
  }

  private Set[] in(In in) {
    List<Object> values = new ArrayList<>();
    for (Expression item : Scala.list(in.list())) {
      if (!(item instanceof Literal) || !item.dataType().sameType(in.value().dataType())) return unrestricted();
      values.add(((Literal) item).value());
    }
    return restricted(in.value(), withoutNull(values), in.value().dataType());
  }

  /** A filter that is a boolean column or its negation. */
  private Set[] booleanColumn(Expression column, boolean value) {
    if (!(column instanceof Attribute) || !(column.dataType() instanceof BooleanType)) return unrestricted();
    return restricted(column, Arrays.asList((Object) value), column.dataType());
  }

  /** The values without null: a comparison with null is never true. */
  private static List withoutNull(Iterable values) {
    List<Object> known = new ArrayList<>();
    for (Object value : values) if (value != null) known.add(value);
    return known;
  }

  /** Restricts a column to the values, if it is a bucketing column and equal values have equal hashes. */
  private Set[] restricted(Expression expression, Iterable values, DataType type) {
    Set[] all = unrestricted();
    Expression column = unpadded(expression);
    if (!(column instanceof Attribute) || type != null && !type.sameType(expression.dataType())) return all;
    for (int i = 0; i < all.length; i++) {
      if (types.fields()[i].name().equalsIgnoreCase(((Attribute) column).name())) all[i] = withEqualValues(column, values);
    }
    return all;
  }

  /** Whether equal values of a type have equal hashes in the files of every engine. */
  public static boolean equalInOneBucket(DataType type) {
    // Hive's time zone at the time of writing is unknown for timestamps. For the others, SQL equality is wider than
    // Java's equals.
    if (type instanceof TimestampType || type instanceof TimestampNTZType || type instanceof BinaryType) return false;
    if (type instanceof FloatType || type instanceof DoubleType) return false;
    if (type instanceof ArrayType || type instanceof MapType || type instanceof StructType) return false;
    return !SparkVersions.isCollated(type);
  }

  /** The values, with all values that compare equal to them, or null if these are unknown. */
  private static Set withEqualValues(Expression column, Iterable values) {
    DataType type = column.dataType();
    boolean zeros = type instanceof FloatType || type instanceof DoubleType;
    if (!zeros && !equalInOneBucket(type)) return null;
    Set<Object> results = new HashSet<>();
    for (Object value : values) {
      // Days before the Gregorian calendar may have been written as other days.
      if (type instanceof DateType && value != null && (Integer) value < FIRST_GREGORIAN_DAY) return null;
      results.add(value);
      if (type instanceof FloatType && value != null && (Float) value == 0) results.addAll(Arrays.asList(0.0f, -0.0f));
      if (type instanceof DoubleType && value != null && (Double) value == 0) results.addAll(Arrays.asList(0.0, -0.0));
    }
    return results;
  }

  /** The column under Spark's padding of char(n). The hash ignores the padding. */
  private static Expression unpadded(Expression expression) {
    if (!(expression instanceof StaticInvoke)) return expression;
    StaticInvoke invoke = (StaticInvoke) expression;
    return invoke.functionName().equals("readSidePadding") ? (Expression) invoke.arguments().head() : expression;
  }

  private Set[] unrestricted() {
    return new Set[types.length()];
  }

  private static Set[] intersection(Set[] left, Set[] right) {
    Set[] values = new Set[left.length];
    for (int i = 0; i < values.length; i++) {
      if (left[i] == null || right[i] == null) {
        values[i] = left[i] == null ? right[i] : left[i];
      } else {
        values[i] = new HashSet<>(left[i]);
        values[i].retainAll(right[i]);
      }
    }
    return values;
  }

  private static Set[] union(Set[] left, Set[] right) {
    Set[] values = new Set[left.length];
    for (int i = 0; i < values.length; i++) {
      if (left[i] == null || right[i] == null) continue;
      values[i] = new HashSet<>(left[i]);
      values[i].addAll(right[i]);
    }
    return values;
  }
}
