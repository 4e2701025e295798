package io.phantoms.spark.bench;

import java.util.SplittableRandom;
import org.apache.commons.math3.distribution.ZipfDistribution;
import org.apache.commons.math3.random.Well19937c;

/**
 * Rows to aggregate, in batches: int columns that make up the group's key, and a long to sum. All rows of a group have the
 * same key, rows of different groups different ones.
 */
final class Rows {
  /** Rows a batch, as Spark's Parquet reader has them. */
  static final int BATCH = 4096;

  /** Key columns by batch. */
  final int[][][] keys;

  /** Values by batch. */
  final long[][] values;

  /**
   * @param rows a multiple of {@link #BATCH}
   * @param columns key columns
   * @param groups the groups there may be
   * @param skew how often each occurs: {@code uniform}, {@code zipf1.1}, or {@code runs10}: uniform, but ten rows of a
   *     group follow each other
   */
  Rows(int rows, int columns, int groups, String skew) {
    keys = new int[rows / BATCH][columns][BATCH];
    values = new long[rows / BATCH][BATCH];
    SplittableRandom random = new SplittableRandom(7);
    ZipfDistribution zipf =
        skew.equals("zipf1.1") ? new ZipfDistribution(new Well19937c(7), groups, 1.1) : null;
    int run = skew.equals("runs10") ? 10 : 1;
    int group = 0;
    for (int i = 0; i < rows; i++) {
      if (i % run == 0) {
        group = zipf == null ? random.nextInt(groups) : zipf.sample() - 1;
      }
      int[][] batch = keys[i / BATCH];
      // The first column alone tells groups apart: an odd factor maps no two ints to one.
      batch[0][i % BATCH] = group * 0x9E3779B1;
      for (int c = 1; c < columns; c++) {
        batch[c][i % BATCH] = mixed(group, c);
      }
      values[i / BATCH][i % BATCH] = random.nextInt(1500);
    }
  }

  private static int mixed(int group, int column) {
    long h = (group * 31L + column) * 0x9E3779B97F4A7C15L;
    return (int) ((h ^ (h >>> 29)) * 0xBF58476D1CE4E5B9L >>> 32);
  }
}
