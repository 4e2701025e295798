package io.phantoms.spark.shims;

import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.DeterministicLevel;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.internal.SQLConf;

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

  /** Whether the rows of a task may come in another order, but not be others, when it runs again. */
  public static boolean isUnordered(RDD<?> rdd) {
    return rdd.outputDeterministicLevel().equals(DeterministicLevel.UNORDERED());
  }

  /**
   * What `body` makes, shuffle dependencies without row-based checksums. Spark 4.2 attaches those if either conf is set.
   * The conf is this thread's while `body` runs; the session keeps its own.
   */
  public static <T> T withoutRowChecksums(Supplier<T> body) {
    SQLConf conf = SQLConf.get().clone();
    conf.setConfString("spark.sql.shuffle.orderIndependentChecksum.enabled", "false");
    conf.setConfString("spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch", "false");
    return SQLConf.withExistingConf(conf, body::get);
  }
}
