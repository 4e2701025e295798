package io.phantoms.spark.run.kernel;

import io.phantoms.spark.shims.HeapVectors;
import org.apache.spark.sql.execution.vectorized.Dictionary;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * The values of one column of a batch as an array, of at least as many elements as the batch has rows and with anything
 * where a value is NULL. The array is the vector's own where that can be had, and only good until the next batch; it must
 * not be written.
 */
public final class ColumnArrays {
  private byte[] bytes = {};
  private short[] shorts = {};
  private int[] ints = {};
  private long[] longs = {};
  private float[] floats = {};
  private double[] doubles = {};

  /** Vectors other than Spark's own may refuse to read a value that is null. */
  private static boolean readable(ColumnVector column) {
    return column instanceof WritableColumnVector || !column.hasNull();
  }

  public byte[] bytes(ColumnVector column, int n) {
    if (column instanceof OnHeapColumnVector vector) {
      if (!vector.hasDictionary()) {
        byte[] own = HeapVectors.bytes(vector);
        if (own != null) {
          return own;
        }
      }
    }
    if (readable(column)) {
      return column.getBytes(0, n);
    }
    if (bytes.length < n) {
      bytes = new byte[n];
    }
    for (int i = 0; i < n; i++) {
      bytes[i] = column.isNullAt(i) ? 0 : column.getByte(i);
    }
    return bytes;
  }

  public short[] shorts(ColumnVector column, int n) {
    if (column instanceof OnHeapColumnVector vector) {
      if (!vector.hasDictionary()) {
        short[] own = HeapVectors.shorts(vector);
        if (own != null) {
          return own;
        }
      }
    }
    if (readable(column)) {
      return column.getShorts(0, n);
    }
    if (shorts.length < n) {
      shorts = new short[n];
    }
    for (int i = 0; i < n; i++) {
      shorts[i] = column.isNullAt(i) ? 0 : column.getShort(i);
    }
    return shorts;
  }

  public int[] ints(ColumnVector column, int n) {
    if (column instanceof OnHeapColumnVector vector) {
      if (!vector.hasDictionary()) {
        int[] own = HeapVectors.ints(vector);
        if (own != null) {
          return own;
        }
      } else {
        Dictionary dictionary = HeapVectors.dictionary(vector);
        int[] ids = HeapVectors.dictionaryIds(vector);
        if (dictionary != null && ids != null && !vector.hasNull()) {
          if (ints.length < n) {
            ints = new int[n];
          }
          for (int i = 0; i < n; i++) {
            ints[i] = dictionary.decodeToInt(ids[i]);
          }
          return ints;
        }
      }
    }
    if (readable(column)) {
      return column.getInts(0, n);
    }
    if (ints.length < n) {
      ints = new int[n];
    }
    for (int i = 0; i < n; i++) {
      ints[i] = column.isNullAt(i) ? 0 : column.getInt(i);
    }
    return ints;
  }

  public long[] longs(ColumnVector column, int n) {
    if (column instanceof OnHeapColumnVector vector) {
      if (!vector.hasDictionary()) {
        long[] own = HeapVectors.longs(vector);
        if (own != null) {
          return own;
        }
      } else {
        Dictionary dictionary = HeapVectors.dictionary(vector);
        int[] ids = HeapVectors.dictionaryIds(vector);
        if (dictionary != null && ids != null && !vector.hasNull()) {
          if (longs.length < n) {
            longs = new long[n];
          }
          for (int i = 0; i < n; i++) {
            longs[i] = dictionary.decodeToLong(ids[i]);
          }
          return longs;
        }
      }
    }
    if (readable(column)) {
      return column.getLongs(0, n);
    }
    if (longs.length < n) {
      longs = new long[n];
    }
    for (int i = 0; i < n; i++) {
      longs[i] = column.isNullAt(i) ? 0 : column.getLong(i);
    }
    return longs;
  }

  public float[] floats(ColumnVector column, int n) {
    if (column instanceof OnHeapColumnVector vector) {
      if (!vector.hasDictionary()) {
        float[] own = HeapVectors.floats(vector);
        if (own != null) {
          return own;
        }
      } else {
        Dictionary dictionary = HeapVectors.dictionary(vector);
        int[] ids = HeapVectors.dictionaryIds(vector);
        if (dictionary != null && ids != null && !vector.hasNull()) {
          if (floats.length < n) {
            floats = new float[n];
          }
          for (int i = 0; i < n; i++) {
            floats[i] = dictionary.decodeToFloat(ids[i]);
          }
          return floats;
        }
      }
    }
    if (readable(column)) {
      return column.getFloats(0, n);
    }
    if (floats.length < n) {
      floats = new float[n];
    }
    for (int i = 0; i < n; i++) {
      floats[i] = column.isNullAt(i) ? 0 : column.getFloat(i);
    }
    return floats;
  }

  public double[] doubles(ColumnVector column, int n) {
    if (column instanceof OnHeapColumnVector vector) {
      if (!vector.hasDictionary()) {
        double[] own = HeapVectors.doubles(vector);
        if (own != null) {
          return own;
        }
      } else {
        Dictionary dictionary = HeapVectors.dictionary(vector);
        int[] ids = HeapVectors.dictionaryIds(vector);
        if (dictionary != null && ids != null && !vector.hasNull()) {
          if (doubles.length < n) {
            doubles = new double[n];
          }
          for (int i = 0; i < n; i++) {
            doubles[i] = dictionary.decodeToDouble(ids[i]);
          }
          return doubles;
        }
      }
    }
    if (readable(column)) {
      return column.getDoubles(0, n);
    }
    if (doubles.length < n) {
      doubles = new double[n];
    }
    for (int i = 0; i < n; i++) {
      doubles[i] = column.isNullAt(i) ? 0 : column.getDouble(i);
    }
    return doubles;
  }
}
