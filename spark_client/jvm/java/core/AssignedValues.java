package spark_client.core;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * The values that a clause assigns to columns, or to fields of a struct column, whose other fields keep their values.
 */
final class AssignedValues {
  private final Map<String, Expression> values = new LinkedHashMap<>();
  private final Set<String> whole = new HashSet<>();
  private final Set<String> assigned = new HashSet<>();

  List<String> columns() {
    return new ArrayList<>(values.keySet());
  }

  List<Expression> values() {
    return new ArrayList<>(values.values());
  }

  /** `changes`: the clause changes an existing row, which supplies the other fields of a struct. */
  void add(Assignment assignment, boolean changes) {
    Expression key = assignment.key();
    List<Integer> path = new ArrayList<>();
    while (changes && key instanceof GetStructField) {
      path.add(0, ((GetStructField) key).ordinal());
      key = ((GetStructField) key).child();
    }
    if (!(key instanceof Attribute)) {
      RowChanges.reject("cannot assign to " + assignment.key().sql() + ": assign to the whole column instead");
    }
    String column = ((Attribute) key).name();
    boolean duplicate = !assigned.add(column + path) || (path.isEmpty() ? values.containsKey(column) : whole.contains(column));
    if (duplicate) RowChanges.reject(assignment.key().sql() + " is assigned more than once");
    if (path.isEmpty()) whole.add(column);
    values.put(column, with((Expression) values.getOrDefault(column, key), path, assignment.value()));
  }

  private static Expression with(Expression column, List<Integer> path, Expression value) {
    if (path.isEmpty()) return value;
    StructField[] fields = ((StructType) column.dataType()).fields();
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < fields.length; i++) {
      Expression field = new GetStructField(column, i, Option.empty());
      parts.add(Literal$.MODULE$.apply(fields[i].name()));
      parts.add(i == (Integer) path.get(0) ? with(field, path.subList(1, path.size()), value) : field);
    }
    return new CreateNamedStruct(Scala.seq(parts));
  }
}
