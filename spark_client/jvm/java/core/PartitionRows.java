package spark_client.core;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * Converts the values of partitions to rows, as Spark's own readers of Hive tables do.
 *
 * CatalogTablePartition.toRow does the same but creates new casts for each partition.
 */
public final class PartitionRows {
  private static final String NULL = ExternalCatalogUtils.DEFAULT_PARTITION_NAME();

  private final Expression[] values;

  /** `schema`: columns of the table. `zone`: the time zone of the session. */
  public PartitionRows(CatalogTable table, StructType schema, String zone) {
    Option tableZone = CaseInsensitiveMap$.MODULE$.apply(table.storage().properties()).get(DateTimeUtils.TIMEZONE_OPTION());
    values = new Expression[schema.length()];
    for (int i = 0; i < values.length; i++) {
      Expression text = new BoundReference(i, StringType$.MODULE$, true);
      values[i] = new Cast(text, schema.fields()[i].dataType(), tableZone.isDefined() ? tableZone : Option.apply(zone));
    }
  }

  /** The row of one partition's texts. */
  public InternalRow row(String[] texts) {
    Object[] strings = new Object[values.length], row = new Object[values.length];
    for (int i = 0; i < values.length; i++) strings[i] = texts[i].equals(NULL) ? null : UTF8String.fromString(texts[i]);
    InternalRow input = new GenericInternalRow(strings);
    for (int i = 0; i < values.length; i++) row[i] = values[i].eval(input);
    return new GenericInternalRow(row);
  }
}
