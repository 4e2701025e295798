package io.phantoms.spark.shims;

import org.apache.spark.TaskContext;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;

/** Members of Spark that Scala sees as private to Spark and Java does not. */
public final class SparkInternals {
  private SparkInternals() {}

  public static TaskMemoryManager taskMemoryManager(TaskContext context) {
    return context.taskMemoryManager();
  }

  /** Makes NaN and -0.0 of a grouping key one value each, as Spark's own aggregation does when it is planned. */
  public static Expression normalizeFloatingPoint(Expression key) {
    return NormalizeFloatingNumbers$.MODULE$.normalize(key);
  }
}
