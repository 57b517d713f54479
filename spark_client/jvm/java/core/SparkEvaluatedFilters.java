package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.types.StructType;

/**
 * Evaluates filters on partition columns that the metastore cannot evaluate.
 *
 * Spark evaluates them on the existing values, so that the metastore can exclude partitions by their values.
 */
public final class SparkEvaluatedFilters {
  private static final char END = 0;

  private final CatalogTable table;
  private final String zone;
  private final boolean complete;
  private final List<Map> pushedFilters = new ArrayList<>();

  /** `complete`: the values are all that exist. */
  public SparkEvaluatedFilters(CatalogTable table, String zone, boolean complete) {
    this.table = table;
    this.zone = zone;
    this.complete = complete;
  }

  /**
   * Evaluates the filters of a group: {columns, filters: their positions, texts: values row by row, each followed by a
   * NUL}.
   */
  public void evaluate(JsonNode group, List filters) {
    // With several columns, missing combinations allow no conclusion about a single column.
    if (!complete && group.get("columns").size() > 1) return;
    StructType schema = schema(group.get("columns"));
    List<Object> selected = new ArrayList<>();
    for (JsonNode position : group.get("filters")) selected.add(filters.get(position.asInt()));
    PartitionFilters test = new PartitionFilters(schema, Scala.seq(selected));
    PartitionRows rows = new PartitionRows(table, schema, zone);
    int width = schema.length();
    Set[] seen = new Set[width], kept = new Set[width];
    for (int i = 0; i < width; i++) {
      seen[i] = new HashSet<String>();
      kept[i] = new HashSet<String>();
    }
    String texts = group.get("texts").asText();
    String[] row = new String[width];
    for (int start = 0; start < texts.length();) {
      for (int i = 0; i < width; i++) {
        int end = texts.indexOf(END, start);
        row[i] = texts.substring(start, end);
        start = end + 1;
      }
      boolean keep = mayAccept(test, rows, row);
      for (int i = 0; i < width; i++) {
        seen[i].add(row[i]);
        if (keep) kept[i].add(row[i]);
      }
    }
    for (int i = 0; i < width; i++) conclude(schema.fieldNames()[i], seen[i], kept[i]);
  }

  /** The conclusions, {column, values, include}: the filters can be true only for these values, or for all others. */
  public List pushedFilters() {
    return pushedFilters;
  }

  private void conclude(String column, Set seen, Set kept) {
    if (kept.size() == seen.size()) return;
    // The shorter list is sent. Values that are not listed may match unless the list is complete.
    boolean few = complete && kept.size() <= seen.size() / 2;
    if (!few) seen.removeAll(kept);
    Map<String, Object> conclusion = new HashMap<>();
    conclusion.put("column", column);
    conclusion.put("values", few ? kept : seen);
    conclusion.put("include", few);
    pushedFilters.add(conclusion);
  }

  /** An error of an evaluation counts as a match: the row is excluded only if another filter excludes it. */
  private static boolean mayAccept(PartitionFilters filters, PartitionRows rows, String[] texts) {
    try {
      return filters.accept(rows.row(texts));
    } catch (RuntimeException error) {
      return true;
    }
  }

  private StructType schema(JsonNode columns) {
    StructType all = table.partitionSchema(), schema = new StructType();
    for (JsonNode column : columns) schema = schema.add(all.apply(column.asText()));
    return schema;
  }
}
