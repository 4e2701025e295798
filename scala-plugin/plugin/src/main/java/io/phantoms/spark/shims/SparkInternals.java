package io.phantoms.spark.shims;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.DeterministicLevel;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionEquals;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.GeneratedClass;
import org.apache.spark.sql.catalyst.expressions.codegen.SubExprEliminationState;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.internal.SQLConf;
import scala.Tuple2;
import scala.collection.immutable.Map;

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

  /** What has been evaluated already of what several expressions have in common, while code is generated. */
  public static Map<ExpressionEquals, SubExprEliminationState> evaluated(CodegenContext context) {
    return context.subExprEliminationExprs();
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

  /** Hands an event to all listeners of the application, without waiting for them. */
  public static void post(SparkContext context, SparkListenerEvent event) {
    context.listenerBus().post(event);
  }

  private static final Method COMPILER = compiler();

  private static Method compiler() {
    try {
      Method method = CodeGenerator$.class.getDeclaredMethod("doCompile", CodeAndComment.class);
      method.setAccessible(true);
      return method;
    } catch (ReflectiveOperationException | RuntimeException e) {
      return null;
    }
  }

  /**
   * What Spark's compiler makes of a source, under the thread's class loader. Spark's cache of classes has no part in it, as
   * it keeps a number of them and their sources, whatever their size; where this Spark has no such method, it has.
   */
  public static GeneratedClass compile(CodeAndComment source) throws Throwable {
    if (COMPILER == null) return CodeGenerator$.MODULE$.compile(source)._1();
    try {
      return (GeneratedClass) ((Tuple2<?, ?>) COMPILER.invoke(CodeGenerator$.MODULE$, source))._1();
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
