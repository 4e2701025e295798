package io.phantoms.spark.shims;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.apache.spark.sql.execution.vectorized.Dictionary;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;

/**
 * The arrays behind Spark's column vectors on the heap, which its own readers hand out as copies only. Every method answers
 * null where this Spark keeps them otherwise.
 */
public final class HeapVectors {
  private static final VarHandle BYTES = field(OnHeapColumnVector.class, "byteData", byte[].class);
  private static final VarHandle SHORTS = field(OnHeapColumnVector.class, "shortData", short[].class);
  private static final VarHandle INTS = field(OnHeapColumnVector.class, "intData", int[].class);
  private static final VarHandle LONGS = field(OnHeapColumnVector.class, "longData", long[].class);
  private static final VarHandle FLOATS = field(OnHeapColumnVector.class, "floatData", float[].class);
  private static final VarHandle DOUBLES = field(OnHeapColumnVector.class, "doubleData", double[].class);
  private static final VarHandle DICTIONARY = field(WritableColumnVector.class, "dictionary", Dictionary.class);

  private HeapVectors() {}

  private static VarHandle field(Class<?> owner, String name, Class<?> type) {
    try {
      return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVarHandle(owner, name, type);
    } catch (ReflectiveOperationException | RuntimeException e) {
      return null;
    }
  }

  public static byte[] bytes(OnHeapColumnVector vector) {
    return BYTES == null ? null : (byte[]) BYTES.get(vector);
  }

  public static short[] shorts(OnHeapColumnVector vector) {
    return SHORTS == null ? null : (short[]) SHORTS.get(vector);
  }

  public static int[] ints(OnHeapColumnVector vector) {
    return INTS == null ? null : (int[]) INTS.get(vector);
  }

  public static long[] longs(OnHeapColumnVector vector) {
    return LONGS == null ? null : (long[]) LONGS.get(vector);
  }

  public static float[] floats(OnHeapColumnVector vector) {
    return FLOATS == null ? null : (float[]) FLOATS.get(vector);
  }

  public static double[] doubles(OnHeapColumnVector vector) {
    return DOUBLES == null ? null : (double[]) DOUBLES.get(vector);
  }

  public static Dictionary dictionary(OnHeapColumnVector vector) {
    return DICTIONARY == null ? null : (Dictionary) DICTIONARY.get((WritableColumnVector) vector);
  }

  /** For each row its value's place in {@link #dictionary}. */
  public static int[] dictionaryIds(OnHeapColumnVector vector) {
    return vector.getDictionaryIds() instanceof OnHeapColumnVector ids ? ints(ids) : null;
  }
}
