package io.phantoms.spark.bench;

import io.phantoms.spark.run.kernel.HftaKernel;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * A record into the table of the reduce side: blocks as they come from the exchange, read and merged by the kernel the
 * plugin generates, beside plain open addressing over the records. Both tables start cleared, at their final size. {@code packed} also unpacks the blocks.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
public class GroupTableBenchmark {
  static final int RECORDS = 1 << 21;

  /** Words of the key, each of two int columns. */
  @Param({"1", "2", "4"})
  public int words;

  /** Groups there may be. */
  @Param({"1024", "32768", "1048576"})
  public int groups;

  @Param({"uniform", "zipf1.1"})
  public String skew;

  private byte[][] blocks;
  private byte[][] packedBlocks;
  private long[] records;
  private HftaKernel kernel;
  private PlainGroups plain;

  @Setup
  public void setUp() {
    Rows rows = new Rows(RECORDS, 2 * words, groups, skew);
    blocks = Kernels.blocks(words, rows, false);
    packedBlocks = Kernels.blocks(words, rows, true);
    records = Kernels.records(words, rows);
    kernel = Kernels.hfta(words, groups);
    plain = new PlainGroups(words, groups);
    if (merge(blocks) != plain.merge(records)) {
      throw new IllegalStateException("the tables hold different numbers of groups");
    }
  }

  @Benchmark
  public long turn(Turns turns) {
    return turns.take(() -> merge(blocks), () -> merge(packedBlocks), () -> plain.merge(records));
  }

  private int merge(byte[][] blocks) {
    kernel.free(0);
    for (byte[] block : blocks) {
      kernel.mergeBuffer(0, kernel.readBlock(block, 0));
    }
    return kernel.table(0).size;
  }
}
