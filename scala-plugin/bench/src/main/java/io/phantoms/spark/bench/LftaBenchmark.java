package io.phantoms.spark.bench;

import io.phantoms.spark.execute.LftaKernel;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** A row into a table of the map side: the kernel the plugin generates for one relation, beside plain arrays. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class LftaBenchmark {
  private static final int ROWS = 1 << 22;

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
  private PlainTable plain;

  @Setup
  public void setUp() {
    String[] parts = skew.split(" ");
    rows = new Rows(ROWS, 2 * words, (int) (Double.parseDouble(parts[0]) * buckets), parts[1]);
    batches = Kernels.batches(rows);
    kernel = Kernels.lfta(words, buckets);
    plain = PlainTable.of(words, 31 - Integer.numberOfLeadingZeros(buckets));
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long kernel() {
    long shipped = 0;
    for (ColumnarBatch batch : batches) {
      kernel.process(batch);
      while (!kernel.ready.isEmpty()) {
        shipped += kernel.ready.poll().words();
      }
    }
    return shipped;
  }

  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long plain() {
    for (int b = 0; b < batches.length; b++) {
      plain.add(rows.keys[b], rows.values[b], Rows.BATCH);
    }
    return plain.checksum();
  }
}
