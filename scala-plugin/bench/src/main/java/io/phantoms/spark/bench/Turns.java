package io.phantoms.spark.bench;

import java.util.function.LongSupplier;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * What each form took in turns over the same rows, in one process: the speed of a shared machine changes by more than half
 * from one second to the next, but seldom within a turn. JMH adds up the fields over an iteration and reports them beside the
 * time of the whole turn.
 */
@AuxCounters(AuxCounters.Type.EVENTS)
@State(Scope.Thread)
public class Turns {
  /** Nanoseconds of the generated kernel. */
  public long kernel;

  /** Nanoseconds of the generated kernel with blocks packed, as the exchange has them. */
  public long packed;

  /** Nanoseconds of plain arrays. */
  public long plain;

  /** Turns taken. */
  public long turns;

  /** Runs each form once; answers something that depends on all of them. */
  long take(LongSupplier kernel, LongSupplier packed, LongSupplier plain) {
    long start = System.nanoTime();
    long seen = kernel.getAsLong();
    long afterKernel = System.nanoTime();
    seen += packed.getAsLong();
    long afterPacked = System.nanoTime();
    seen += plain.getAsLong();
    long end = System.nanoTime();
    this.kernel += afterKernel - start;
    this.packed += afterPacked - afterKernel;
    this.plain += end - afterPacked;
    turns++;
    return seen;
  }
}
