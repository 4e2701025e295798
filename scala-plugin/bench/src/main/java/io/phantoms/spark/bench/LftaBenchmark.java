package io.phantoms.spark.bench;

import io.phantoms.spark.run.kernel.LftaKernel;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * A row into a table of the map side: the kernel the plugin generates for one relation, beside plain arrays. What is pushed
 * out of a table is copied to a block in both; {@code packed} is the kernel that packs full blocks, too, as it does for the
 * exchange.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
public class LftaBenchmark {
  static final int ROWS = 1 << 22;

  /** Words of the key, each of two int columns. */
  @Param({"1", "2", "4"})
  public int words;

  @Param({"1024", "32768", "1048576"})
  public int buckets;

  /** Groups for each bucket and how often they occur. */
  @Param({"0.5 uniform", "4 uniform", "4 zipf1.1", "4 runs10"})
  public String skew;

  private Rows rows;
  private ColumnarBatch[] batches;
  private LftaKernel kernel;
  private LftaKernel packing;
  private PlainTable plain;

  @Setup
  public void setUp() {
    String[] parts = skew.split(" ");
    rows = new Rows(ROWS, 2 * words, (int) (Double.parseDouble(parts[0]) * buckets), parts[1]);
    batches = Kernels.batches(rows);
    kernel = Kernels.lfta(words, buckets, false);
    packing = Kernels.lfta(words, buckets, true);
    plain = PlainTable.of(words, 31 - Integer.numberOfLeadingZeros(buckets));
  }

  /** Both have to do about the same: their hashes differ, and with them what gets into whose way. */
  @TearDown
  public void check() {
    LftaKernel fresh = Kernels.lfta(words, buckets, false);
    PlainTable other = PlainTable.of(words, 31 - Integer.numberOfLeadingZeros(buckets));
    feed(fresh);
    feed(other);
    long evicted = fresh.evictions[0] - fresh.evictedAtEnd[0] - fresh.passed[0];
    if (Math.abs(evicted - other.evicted()) > 0.01 * ROWS) {
      throw new IllegalStateException(evicted + " evictions, " + other.evicted() + " of the plain table");
    }
  }

  @Benchmark
  public long turn(Turns turns) {
    return turns.take(() -> feed(kernel), () -> feed(packing), () -> feed(plain));
  }

  private long feed(LftaKernel into) {
    long shipped = 0;
    for (ColumnarBatch batch : batches) {
      into.process(batch);
      while (!into.ready.isEmpty()) {
        LftaKernel.Finished block = into.ready.poll();
        shipped += block.words();
        into.reuse(block);
      }
    }
    return shipped;
  }

  private long feed(PlainTable into) {
    for (int b = 0; b < batches.length; b++) {
      into.add(rows.keys[b], rows.values[b], Rows.BATCH);
    }
    return into.checksum();
  }
}
