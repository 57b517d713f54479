package spark_client.joins;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayItem;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Pmod;
import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.ShuffleSpec;
import org.apache.spark.sql.catalyst.plans.physical.ShuffleSpecCollection;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnspecifiedDistribution$;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import scala.collection.immutable.Seq;
import spark_client.buckets.BucketHash;
import spark_client.core.Scala;

/**
 * A partitioning of rows by Hive's bucket hash of some columns.
 *
 * It is not a HashPartitioning, which Spark would take for a partitioning by its own hash. Two such inputs are joined
 * without a shuffle only if hash and bucket count are equal. Any other input of the join is shuffled by Hive's hash.
 */
public final class BucketPartitioning implements Partitioning, Serializable {
  private final List columns;
  private final StructType types;
  private final int version;
  private final String zone;
  private final int count;
  private final FileSourceScanExec scan;

  /** `types`: the Hive types of the attributes `columns`. `scan`: the scan that reads the rows. */
  public BucketPartitioning(
      List columns, StructType types, int version, String zone, int count, FileSourceScanExec scan) {
    this.columns = columns;
    this.types = types;
    this.version = version;
    this.zone = zone;
    this.count = count;
    this.scan = scan;
  }

  /** The scan that reads the rows. */
  public FileSourceScanExec scan() {
    return scan;
  }

  public int numPartitions() {
    return count;
  }

  public boolean satisfies0(Distribution required) {
    if (required == UnspecifiedDistribution$.MODULE$) return true;
    if (!(required instanceof ClusteredDistribution)) return false;
    ClusteredDistribution clustered = (ClusteredDistribution) required;
    if (clustered.requireAllClusterKeys() && clustered.clustering().size() != columns.size()) return false;
    return positions(clustered) != null;
  }

  public ShuffleSpec createShuffleSpec(ClusteredDistribution required) {
    return new Spec(this, positions(required));
  }

  /** The position of each column among the clustering keys, or null if one is missing. */
  private List positions(ClusteredDistribution required) {
    Seq keys = required.clustering();
    List<Integer> positions = new ArrayList<>();
    for (Expression column : columns) {
      int position = 0;
      while (position < keys.size() && !column.semanticEquals((Expression) keys.apply(position))) position++;
      if (position == keys.size()) return null;
      positions.add(position);
    }
    return positions;
  }

  /**
   * Some operators are serialized with their partitioning. Executors do not have this class and do not use the
   * partitioning.
   */
  public Object writeReplace() {
    return new UnknownPartitioning(count);
  }

  public String toString() {
    return "BucketPartitioning(" + columns + ", version " + version + ", " + count + ")";
  }

  private static final class Spec implements ShuffleSpec {
    /** The seed of Spark's HashPartitioning. */
    private static final int SEED = 42;

    private final BucketPartitioning rows;
    private final List positions;

    Spec(BucketPartitioning rows, List positions) {
      this.rows = rows;
      this.positions = positions;
    }

    public int numPartitions() {
      return rows.count;
    }

    public boolean isCompatibleWith(ShuffleSpec other) {
      if (other instanceof ShuffleSpecCollection) {
        for (ShuffleSpec spec : Scala.list(((ShuffleSpecCollection) other).specs())) {
          if (isCompatibleWith(spec)) return true;
        }
        return false;
      }
      if (!(other instanceof Spec) || positions == null) return false;
      BucketPartitioning otherRows = ((Spec) other).rows;
      return rows.count == otherRows.count && rows.version == otherRows.version && sameTypes(rows.types, otherRows.types)
          && positions.equals(((Spec) other).positions);
    }

    public boolean canCreatePartitioning() {
      return positions != null;
    }

    /** The partitioning of the other side of a join, by which Spark shuffles it. */
    public Partitioning createPartitioning(Seq clustering) {
      List<Object> keys = new ArrayList<>();
      for (Integer position : positions) keys.add(clustering.apply(position));
      Expression hash = new BucketHash(rows.version, rows.zone).hash(keys, rows.types);
      return new HashPartitioning(Scala.seq(hashedInto(bucket(hash))), rows.count);
    }

    private Expression bucket(Expression hash) {
      Expression positive = new BitwiseAnd(hash, Literal.create(Integer.MAX_VALUE, DataTypes.IntegerType));
      return new Pmod(positive, Literal.create(rows.count, DataTypes.IntegerType));
    }

    /**
     * Maps each bucket to a number whose Spark hash selects the partition of the bucket.
     *
     * Executors do not have a partitioning of this library, and only newer Sparks have one that takes the partition
     * number itself.
     */
    private Expression hashedInto(Expression bucket) {
      Object[] numbers = new Object[rows.count];
      for (int number = 0, missing = rows.count; missing > 0; number++) {
        int partition = Math.floorMod(Murmur3_x86_32.hashInt(number, SEED), rows.count);
        if (numbers[partition] != null) continue;
        numbers[partition] = number;
        missing--;
      }
      Literal all = new Literal(new GenericArrayData(numbers), DataTypes.createArrayType(DataTypes.IntegerType, false));
      return new GetArrayItem(all, bucket, false);
    }

    private static boolean sameTypes(StructType left, StructType right) {
      if (left.length() != right.length()) return false;
      for (int i = 0; i < left.length(); i++) {
        if (!left.fields()[i].dataType().equals(right.fields()[i].dataType())) return false;
      }
      return true;
    }
  }
}
