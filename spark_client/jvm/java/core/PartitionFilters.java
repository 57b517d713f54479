package spark_client.core;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * Filters on partition columns, evaluated by Spark.
 *
 * They remove partitions that the metastore could not exclude before their directories are listed.
 */
public final class PartitionFilters {
  private final BasePredicate predicate;

  public PartitionFilters(StructType schema, Seq filters) {
    Expression all = null;
    for (Expression filter : Scala.list(filters)) {
      // Spark itself applies filters that depend on a running query.
      if (filter.exists(new Dynamic())) continue;
      Expression bound = bound(schema, filter);
      all = all == null ? bound : new And(all, bound);
    }
    this.predicate = all == null ? null : Predicate$.MODULE$.createInterpreted(all);
  }

  /** The filter with references to the columns of the schema by number. */
  static Expression bound(StructType schema, Expression filter) {
    return (Expression) filter.transformUp(new Bound(schema));
  }

  public boolean accept(InternalRow partition) {
    return predicate == null || predicate.eval(partition);
  }

  /** Finds expressions whose value is known only when the query runs. */
  public static final class Dynamic extends AbstractFunction1 {
    public Object apply(Object node) {
      return node instanceof PlanExpression;
    }
  }

  private static final class Bound extends AbstractPartialFunction {
    private final StructType schema;

    Bound(StructType schema) {
      this.schema = schema;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      int index = schema.fieldIndex(((AttributeReference) node).name());
      return new BoundReference(index, schema.fields()[index].dataType(), true);
    }
  }
}
