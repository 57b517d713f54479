package spark_client.buckets;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.serde2.io.TimestampWritable;
import org.apache.hive.common.util.Murmur3;
import org.apache.spark.sql.catalyst.expressions.ArrayAggregate;
import org.apache.spark.sql.catalyst.expressions.ArrayTransform;
import org.apache.spark.sql.catalyst.expressions.BitwiseXor;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.HiveHash;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapEntries;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.StringTrimRight;
import org.apache.spark.sql.catalyst.expressions.UnixDate;
import org.apache.spark.sql.catalyst.expressions.UnixMicros;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.NewInstance;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VarcharType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import spark_client.core.Scala;
import spark_client.core.SparkVersions;

/**
 * Hive's bucket hash as a Spark expression (ObjectInspectorUtils.getBucketHashCode and getBucketHashCodeOld).
 *
 * The expression consists of Catalyst's expressions, and of Hive's own classes where these differ. All of them are on
 * the class path of every executor, so nothing has to be shipped. Spark generates code for all of it except the
 * elements of arrays and maps. A hash is never null: the hash of null is 0.
 */
public final class BucketHash {
  private final int version;
  private final String zone;

  /** `version`: Hive's bucketing_version, 1 or 2. `zone`: the time zone of the local time of timestamps. */
  public BucketHash(int version, String zone) {
    this.version = version;
    this.zone = zone;
  }

  /** The hash of several columns, in this order. `types` are Hive's, with char(n) and varchar(n). */
  public Expression hash(List columns, StructType types) {
    List<Expression> hashes = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) hashes.add(of((Expression) columns.get(i), types.fields()[i].dataType()));
    return combinedHash(hashes);
  }

  private Expression of(Expression value, DataType type) {
    if (type instanceof ArrayType) return ofArray(value, (ArrayType) type);
    if (type instanceof MapType) return ofMap(value, (MapType) type);
    if (type instanceof StructType) return ofStruct(value, (StructType) type);
    Expression hash = version == 2 ? version2(value, type) : version1(value, type);
    if (hash == null) {
      throw new IllegalArgumentException(
          "cannot compute the hash of type " + type.sql() + " in Hive's bucketing_version " + version);
    }
    return hash;
  }

  private static Expression version1(Expression value, DataType type) {
    if (type instanceof CharType) return hiveHash(new Concat(Scala.seq(literal("\u0001"), new StringTrimRight(value))));
    if (type instanceof VarcharType) return hiveHash(new Concat(Scala.seq(literal("\u0001"), value)));
    if (type instanceof BinaryType) return hiveHash(new Concat(Scala.seq(bytes(literal("\u0001")), value)));
    // Spark's HiveHash treats -0.0 as 0.0, and truncates seconds before 1970.
    if (type instanceof FloatType || type instanceof DoubleType) return hiveHash(bits(value, type));
    if (type instanceof TimestampType) return invoke(timestamp(new UnixMicros(value)), "hashCode", DataTypes.IntegerType);
    return isSupported(type) ? hiveHash(value) : null;
  }

  private Expression version2(Expression value, DataType type) {
    if (type instanceof BooleanType || type instanceof ByteType) return hiveHash(value);
    if (type instanceof CharType) return murmur(bytes(new StringTrimRight(value)));
    if (type instanceof DateType) return murmur(bytes(new UnixDate(value)));
    // Hive puts the bits, as a number, into a float buffer.
    if (type instanceof FloatType || type instanceof DoubleType) {
      return murmur(bytes(bits(cast(bits(value, type), type), type)));
    }
    if (type instanceof DecimalType) return murmur(unscaled(value));
    if (type instanceof TimestampType) return murmur(invoke(timestamp(localTime(value)), "getBytes", DataTypes.BinaryType));
    return isSupported(type) ? murmur(bytes(value)) : null;
  }

  /**
   * Binary is missing in version 2: Hive hashes its whole buffer there, with bytes that an earlier, longer value left.
   */
  private static boolean isSupported(DataType type) {
    return type instanceof StringType || type instanceof VarcharType || type instanceof BooleanType
        || type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType || type instanceof LongType
        || type instanceof DecimalType || type instanceof DateType;
  }

  private Expression ofStruct(Expression value, StructType type) {
    List<Expression> hashes = new ArrayList<>();
    for (int i = 0; i < type.length(); i++) {
      hashes.add(of(new GetStructField(value, i, Option.empty()), type.fields()[i].dataType()));
    }
    return combinedHash(hashes);
  }

  private Expression ofArray(Expression value, ArrayType type) {
    NamedLambdaVariable element = variable("element", withoutCharVarchar(type.elementType()), true);
    return hiveHash(new ArrayTransform(value, lambda(of(element, type.elementType()), Scala.seq(element))));
  }

  /** The sum of key ^ value over all entries. Values have their version 1 hash, also in version 2. */
  private Expression ofMap(Expression value, MapType type) {
    StructType entries = new StructType()
        .add("key", withoutCharVarchar(type.keyType()), false).add("value", withoutCharVarchar(type.valueType()), true);
    NamedLambdaVariable sum = variable("sum", DataTypes.IntegerType, false);
    NamedLambdaVariable entry = variable("entry", entries, false);
    NamedLambdaVariable all = variable("all", DataTypes.IntegerType, false);
    Expression hash = new BitwiseXor(
        hiveHash(of(new GetStructField(entry, 0, Option.empty()), type.keyType())),
        hiveHash(new BucketHash(1, zone).of(new GetStructField(entry, 1, Option.empty()), type.valueType())));
    // Overflow wraps around, as in Hive, even in ANSI mode.
    Expression added = invokeStatic(Integer.class, "sum", DataTypes.IntegerType, Scala.seq(sum, hash));
    return hiveHash(new ArrayAggregate(
        new MapEntries(value), Literal.create(0, DataTypes.IntegerType),
        lambda(added, Scala.seq(sum, entry)), lambda(all, Scala.seq(all))));
  }

  /** 31 * (31 * first + second) + third …. HiveHash combines integers that way, and an integer is its own hash. */
  private static Expression combinedHash(List hashes) {
    return new HiveHash(Scala.seq(hashes));
  }

  /** Spark's HiveHash, which is Hive's version 1. It is 0 for null. */
  private static Expression hiveHash(Expression value) {
    return new HiveHash(Scala.seq(value));
  }

  private static Expression murmur(Expression bytes) {
    return invokeStatic(Murmur3.class, "hash32", DataTypes.IntegerType, Scala.seq(bytes));
  }

  /** The bytes of an integer, most significant first, or of a text in UTF-8. */
  private static Expression bytes(Expression value) {
    return cast(value, DataTypes.BinaryType);
  }

  private static Expression bits(Expression value, DataType type) {
    return type instanceof FloatType
        ? invokeStatic(Float.class, "floatToIntBits", DataTypes.IntegerType, Scala.seq(value))
        : invokeStatic(Double.class, "doubleToLongBits", DataTypes.LongType, Scala.seq(value));
  }

  /** The bytes of the unscaled number without trailing zeros. */
  private static Expression unscaled(Expression value) {
    Expression number = invoke(value, "toJavaBigDecimal", new ObjectType(java.math.BigDecimal.class));
    DataType type = new ObjectType(HiveDecimal.class);
    return invoke(invokeStatic(HiveDecimal.class, "create", type, Scala.seq(number)), "bigIntegerBytes", DataTypes.BinaryType);
  }

  /** The local time in microseconds. */
  private Expression localTime(Expression value) {
    return invokeStatic(
        DateTimeUtils.class, "fromUTCTime", DataTypes.LongType,
        Scala.seq(new UnixMicros(value), new Literal(zone, new ObjectType(String.class))));
  }

  /** Hive's TimestampWritable of a timestamp in microseconds. */
  private static Expression timestamp(Expression micros) {
    Expression moment = invokeStatic(
        DateTimeUtils.class, "toJavaTimestampNoRebase", new ObjectType(java.sql.Timestamp.class), Scala.seq(micros));
    return new NewInstance(
        TimestampWritable.class, Scala.seq(moment), Scala.seq(), true, new ObjectType(TimestampWritable.class), Option.empty());
  }

  private static Expression invokeStatic(Class owner, String method, DataType result, Seq arguments) {
    return (Expression) SparkVersions.newInstance(
        StaticInvoke.class, owner, result, method, arguments, Scala.seq(), true, !isPrimitive(result), true);
  }

  private static Expression invoke(Expression target, String method, DataType result) {
    return new Invoke(target, method, result, Scala.seq(), Scala.seq(), true, !isPrimitive(result), true);
  }

  private static boolean isPrimitive(DataType type) {
    return type instanceof IntegerType || type instanceof LongType;
  }

  private static Expression cast(Expression value, DataType type) {
    return new Cast(value, type, Option.empty(), EvalMode$.MODULE$.LEGACY());
  }

  private static Expression literal(String text) {
    return Literal.create(UTF8String.fromString(text), DataTypes.StringType);
  }

  private static NamedLambdaVariable variable(String name, DataType type, boolean nullable) {
    return new NamedLambdaVariable(
        name, type, nullable, NamedExpression$.MODULE$.newExprId(), new AtomicReference<>());
  }

  private static Expression lambda(Expression body, Seq variables) {
    return new LambdaFunction(body, variables, false);
  }

  /** The type in Spark's computations: char and varchar are strings. */
  private static DataType withoutCharVarchar(DataType type) {
    return CharVarcharUtils.replaceCharVarcharWithString(type);
  }
}
