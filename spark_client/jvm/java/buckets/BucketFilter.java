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
 * The hashes that the bucketing columns of matching rows can have: where the filters leave each of them a finite set of
 * values. The hash is that of writing.
 */
public final class BucketFilter {
  private static final int FIRST_GREGORIAN_DAY = -141427;

  private final StructType types;
  private final Expression hash;

  /** `types`: the bucketing columns, of Hive's types. */
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

  /** Null where any hash is possible, or more than `limit` combinations are. */
  public List hashes(Seq filters, int limit) {
    if (hash == null) return null;
    Set[] values = new Set[types.length()];
    for (Expression filter : Scala.list(filters)) values = both(values, values(filter));
    long combinations = 1;
    for (Set possible : values) {
      if (possible == null) return null;
      combinations *= possible.size();
      if (combinations > limit) return null;
    }
    Set<Object> found = new HashSet<>();
    add(found, values, new Object[values.length], 0);
    return new ArrayList<>(found);
  }

  private void add(Set found, Set[] values, Object[] row, int column) {
    if (column == row.length) {
      found.add(hash.eval(new GenericInternalRow(row)));
      return;
    }
    for (Object value : values[column]) {
      row[column] = value;
      add(found, values, row, column + 1);
    }
  }

  /** For each column the values for which the filter can be true, null where it can be for any. */
  private Set[] values(Expression filter) {
    if (filter instanceof And) return both(values(((And) filter).left()), values(((And) filter).right()));
    if (filter instanceof Or) return either(values(((Or) filter).left()), values(((Or) filter).right()));
    if (filter instanceof EqualTo) return equal(((EqualTo) filter).left(), ((EqualTo) filter).right(), false);
    if (filter instanceof EqualNullSafe) {
      return equal(((EqualNullSafe) filter).left(), ((EqualNullSafe) filter).right(), true);
    }
    if (filter instanceof IsNull) return only(((IsNull) filter).child(), Arrays.asList((Object) null), null);
    if (filter instanceof In) return in((In) filter);
    if (filter instanceof InSet) {
      InSet in = (InSet) filter;
      return only(in.child(), without(Scala.list(in.hset())), in.child().dataType());
    }
    if (filter instanceof Not) return flag(((Not) filter).child(), false);
    return flag(filter, true);
  }

  private Set[] equal(Expression left, Expression right, boolean nullSafe) {
    if (left instanceof Literal) return equal(right, left, nullSafe);
    if (!(right instanceof Literal)) return any();
    Literal literal = (Literal) right;
    if (right instanceof Literal && literal.value() == null && !nullSafe) return any();
    return only(left, Arrays.asList(literal.value()), literal.dataType());
  }

  private Set[] in(In in) {
    List<Object> values = new ArrayList<>();
    for (Expression item : Scala.list(in.list())) {
      if (!(item instanceof Literal) || !item.dataType().sameType(in.value().dataType())) return any();
      values.add(((Literal) item).value());
    }
    return only(in.value(), without(values), in.value().dataType());
  }

  /** A column of booleans, or its negation, as a filter. */
  private Set[] flag(Expression column, boolean value) {
    if (!(column instanceof Attribute) || !(column.dataType() instanceof BooleanType)) return any();
    return only(column, Arrays.asList((Object) value), column.dataType());
  }

  /** Nothing is equal to null. */
  private static List without(Iterable values) {
    List<Object> known = new ArrayList<>();
    for (Object value : values) if (value != null) known.add(value);
    return known;
  }

  /** The column restricted to the values, if it is one of ours and equal values have equal hashes. */
  private Set[] only(Expression expression, Iterable values, DataType type) {
    Set[] all = any();
    Expression column = unpadded(expression);
    if (!(column instanceof Attribute) || type != null && !type.sameType(expression.dataType())) return all;
    for (int i = 0; i < all.length; i++) {
      if (types.fields()[i].name().equalsIgnoreCase(((Attribute) column).name())) all[i] = alike(column, values);
    }
    return all;
  }

  /** Whether equal values of a type, which need not be the same, have equal hashes, whoever wrote them. */
  public static boolean equalInOneBucket(DataType type) {
    // What Hive's clock was when it wrote is not known; of the others, what is equal is more than Java's equals tells.
    if (type instanceof TimestampType || type instanceof TimestampNTZType || type instanceof BinaryType) return false;
    if (type instanceof FloatType || type instanceof DoubleType) return false;
    if (type instanceof ArrayType || type instanceof MapType || type instanceof StructType) return false;
    return !SparkVersions.isCollated(type);
  }

  /** The values, with those that compare as equal to them; null where that is not known. */
  private static Set alike(Expression column, Iterable values) {
    DataType type = column.dataType();
    boolean zeros = type instanceof FloatType || type instanceof DoubleType;
    if (!zeros && !equalInOneBucket(type)) return null;
    Set<Object> found = new HashSet<>();
    for (Object value : values) {
      // Before the reform of the calendar a day may have been another one for the writer.
      if (type instanceof DateType && value != null && (Integer) value < FIRST_GREGORIAN_DAY) return null;
      found.add(value);
      if (type instanceof FloatType && value != null && (Float) value == 0) found.addAll(Arrays.asList(0.0f, -0.0f));
      if (type instanceof DoubleType && value != null && (Double) value == 0) found.addAll(Arrays.asList(0.0, -0.0));
    }
    return found;
  }

  /** char(n) as Spark pads it: the hash forgets the blanks again. */
  private static Expression unpadded(Expression expression) {
    if (!(expression instanceof StaticInvoke)) return expression;
    StaticInvoke invoke = (StaticInvoke) expression;
    return invoke.functionName().equals("readSidePadding") ? (Expression) invoke.arguments().head() : expression;
  }

  private Set[] any() {
    return new Set[types.length()];
  }

  private static Set[] both(Set[] left, Set[] right) {
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

  private static Set[] either(Set[] left, Set[] right) {
    Set[] values = new Set[left.length];
    for (int i = 0; i < values.length; i++) {
      if (left[i] == null || right[i] == null) continue;
      values[i] = new HashSet<>(left[i]);
      values[i].addAll(right[i]);
    }
    return values;
  }
}
