package spark_client.core;

import java.util.HashSet;
import java.util.Set;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.types.StructType;

/** A table as Spark's rules for assignments see it. It is never read or written. */
final class RowLevelTable implements SupportsRowLevelOperations {
  private final CatalogTable table;

  RowLevelTable(CatalogTable table) {
    this.table = table;
  }

  public String name() {
    return RowChanges.name(table.identifier());
  }

  public StructType schema() {
    return table.schema();
  }

  public Set capabilities() {
    return new HashSet();
  }

  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    throw new UnsupportedOperationException(name());
  }
}
