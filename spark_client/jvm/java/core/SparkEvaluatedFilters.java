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
 * Filters on partition columns that the metastore cannot judge. Spark evaluates them on the values that there are, so
 * that the metastore can leave out partitions by their values instead of telling of all that there are.
 */
public final class SparkEvaluatedFilters {
  private static final char END = 0;

  private final CatalogTable table;
  private final String zone;
  private final boolean all;
  private final List<Map> pushedFilters = new ArrayList<>();

  /** `all`: the values are all that there are. */
  public SparkEvaluatedFilters(CatalogTable table, String zone, boolean all) {
    this.table = table;
    this.zone = zone;
    this.all = all;
  }

  /** `question`: {columns, filters: positions among `filters`, texts: of the columns, row by row, each ended by a NUL}. */
  public void evaluate(JsonNode question, List filters) {
    // Nothing follows for one of several columns where combinations may be missing.
    if (!all && question.get("columns").size() > 1) return;
    StructType schema = schema(question.get("columns"));
    List<Object> asked = new ArrayList<>();
    for (JsonNode position : question.get("filters")) asked.add(filters.get(position.asInt()));
    PartitionFilters test = new PartitionFilters(schema, Scala.seq(asked));
    PartitionRows rows = new PartitionRows(table, schema, zone);
    int width = schema.length();
    Set[] seen = new Set[width], kept = new Set[width];
    for (int i = 0; i < width; i++) {
      seen[i] = new HashSet<String>();
      kept[i] = new HashSet<String>();
    }
    String texts = question.get("texts").asText();
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

  /** {column, texts, kept}: all filters can be true with none but these texts of the column, or with all but these. */
  public List pushedFilters() {
    return pushedFilters;
  }

  private void conclude(String column, Set seen, Set kept) {
    if (kept.size() == seen.size()) return;
    boolean few = all && kept.size() <= seen.size() / 2;
    if (!few) seen.removeAll(kept);
    Map<String, Object> conclusion = new HashMap<>();
    conclusion.put("column", column);
    conclusion.put("values", few ? kept : seen);
    conclusion.put("include", few);
    pushedFilters.add(conclusion);
  }

  /** What cannot be evaluated is an error only of a partition that nothing else leaves out. */
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
