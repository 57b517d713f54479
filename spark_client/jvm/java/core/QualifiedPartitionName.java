package spark_client.core;

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * The SQL function hive_qname_partition(value): the directory name of a partition value, as Hive escapes it. Hive's
 * design of dynamic partitions names it. It consists of Spark's own functions, so executors need no class of ours.
 */
public final class QualifiedPartitionName extends AbstractFunction1 {
  private static final String NAME = "hive_qname_partition";
  private static final String ESCAPE =
      "java_method('org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils', 'escapePathName', string(" + NAME + "))";
  private static final String TEXT =
      "CASE WHEN coalesce(string(" + NAME + "), '') = '' THEN '__HIVE_DEFAULT_PARTITION__' ELSE " + ESCAPE + " END";

  public Object apply(Object arguments) {
    final java.util.List values = Scala.list((scala.collection.Seq) arguments);
    if (values.size() != 1) throw new IllegalArgumentException(NAME + " takes one value, not " + values.size());
    Expression template = (Expression) CatalystSqlParser$.MODULE$.parseExpression(TEXT);
    return template.transform(
        new AbstractPartialFunction() {
          public boolean isDefinedAt(Object part) {
            return part instanceof UnresolvedAttribute && NAME.equals(((UnresolvedAttribute) part).name());
          }

          public Object applyOrElse(Object part, scala.Function1 otherwise) {
            return isDefinedAt(part) ? values.get(0) : otherwise.apply(part);
          }
        });
  }
}
