package io.phantoms.spark.run

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeAndComment, GeneratedClass}

class CompiledClassesSuite extends SparkFunSuite {

  private final class Made extends GeneratedClass {
    override def generate(references: Array[Any]): Any = this
  }

  private def source(body: String) = new CodeAndComment(body, Map.empty)

  /** Of so many bytes, and how often it compiled. */
  private def counting(bound: Long)(compile: => GeneratedClass): (CompiledClasses, AtomicInteger) = {
    val times = new AtomicInteger
    (new CompiledClasses(bound, _ => { times.incrementAndGet(); compile }), times)
  }

  test("a source is compiled once under each loader") {
    val (classes, times) = counting(1L << 20)(new Made)
    val first = classes.get(source("a"))
    assert(classes.get(source("a")) eq first)
    assert(classes.get(source("b")) ne first)
    assert(times.get == 2)
    val thread = Thread.currentThread
    val own = thread.getContextClassLoader
    thread.setContextClassLoader(new java.net.URLClassLoader(Array.empty[java.net.URL], own))
    try assert(classes.get(source("a")) ne first)
    finally thread.setContextClassLoader(own)
  }

  test("what does not compile is not tried again") {
    for (failure <- Seq[Throwable](new IllegalStateException("no Java"), new ClassFormatError("too large"))) {
      val (classes, times) = counting(1L << 20)(throw failure)
      (1 to 3).foreach(_ => assert(intercept[Throwable](classes.get(source("a"))) eq failure))
      assert(times.get == 1 && classes.size == 1 && classes.held > 0)
    }
  }

  test("failures of a thread are no failures of the source") {
    val (short, tries) = counting(1L << 20)(throw new StackOverflowError)
    (1 to 2).foreach(_ => intercept[StackOverflowError](short.get(source("a"))))
    assert(tries.get == 2)
    val (classes, times) =
      counting(1L << 20)(if (Thread.currentThread.isInterrupted) throw new LinkageError else new Made)
    Thread.currentThread.interrupt()
    try intercept[LinkageError](classes.get(source("a")))
    finally { val _ = Thread.interrupted() }
    classes.get(source("a"))
    assert(times.get == 2)
  }

  test("bytes are bounded; a class in use is found whether there is room for it or not") {
    val large = "x" * 100000
    val (classes, times) = counting(1L << 20)(new Made)
    val first = classes.get(source(s"$large 1"))
    (2 to 20).foreach(i => classes.get(source(s"$large $i")))
    assert(classes.size < 20 && classes.held <= (1L << 20) && times.get == 20)
    assert(classes.get(source(s"$large 1")) eq first)
    val huge = source("x" * (1 << 20))
    val one = classes.get(huge)
    assert(classes.get(huge) eq one)
    assert(classes.held <= (1L << 20) && times.get == 21)
  }

  test("threads that want the same class wait for one of them") {
    val (classes, times) = counting(1L << 20) { Thread.sleep(200); new Made }
    val made = new java.util.concurrent.ConcurrentLinkedQueue[GeneratedClass]
    val threads = Seq.fill(4)(new Thread(() => { val _ = made.add(classes.get(source("a"))) }))
    threads.foreach(_.start())
    threads.foreach(_.join())
    assert(made.size == 4 && made.toArray.distinct.length == 1 && times.get == 1)
  }
}
