package io.phantoms.spark.run

import java.lang.ref.WeakReference
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.collection.mutable
import scala.util.control.NonFatal

import io.phantoms.spark.conf.PlanningMemory
import io.phantoms.spark.keep.Kept
import io.phantoms.spark.shims.SparkInternals

import org.apache.spark.metrics.source.CodegenMetrics
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeAndComment, GeneratedClass}

/**
 * Classes made of generated sources, and failures to make them, by source and class loader. A class that was forgotten
 * but is in use is found as well. Threads that want the same class wait for the first of them.
 *
 * @param bound bytes of everything kept
 * @param compile under the thread's class loader
 */
private[run] final class CompiledClasses(bound: Long, compile: CodeAndComment => GeneratedClass) {
  import CompiledClasses._

  private val kept = new Kept[Key, Made](bound, (_, made) => made.bytes)
  private val inUse = mutable.HashMap.empty[Key, WeakReference[GeneratedClass]]
  private val locks = mutable.HashMap.empty[Key, AnyRef]

  /** The class, or the failure again: what does not compile is not tried twice. */
  def get(source: CodeAndComment): GeneratedClass = {
    val key = new Key(loader, digest(source.body))
    known(key).getOrElse {
      val lock = synchronized(locks.getOrElseUpdate(key, new Object))
      try lock.synchronized(known(key).getOrElse(make(key, source)))
      finally synchronized { val _ = locks.remove(key) }
    }.result.fold(throw _, identity)
  }

  def size: Int = kept.size
  def held: Long = kept.held

  private def known(key: Key): Option[Made] = kept.get(key).orElse(synchronized {
    inUse.get(key).flatMap(r => Option(r.get)).map(c => Made(Right(c), 0))
  })

  private def make(key: Key, source: CodeAndComment): Made =
    try {
      val made = Made(Right(compile(source)), classBytes(source))
      synchronized {
        inUse.filterInPlace((_, r) => r.get != null)
        made.result.foreach(c => inUse.put(key, new WeakReference(c)))
      }
      kept.put(key, made)
      made
    } catch {
      case e if isLasting(e) =>
        val failed = Made(Left(e), PlanningMemory.weigh(e))
        kept.put(key, failed)
        failed
    }

  // Another thread may have more stack, and an interrupted one cannot load all that the source names.
  private def isLasting(e: Throwable): Boolean = !Thread.currentThread.isInterrupted && (e match {
    case NonFatal(_) | _: LinkageError => true
    case _ => false
  })
}

private[run] object CompiledClasses {

  /** Of this process. Compiling one of megabytes takes seconds, so that a larger process keeps more of them. */
  val global = new CompiledClasses(math.max(32L << 20, Runtime.getRuntime.maxMemory / 16), compiled)

  private def compiled(source: CodeAndComment): GeneratedClass = {
    val start = System.nanoTime()
    val made = SparkInternals.compile(source)
    CodegenMetrics.METRIC_SOURCE_CODE_SIZE.update(source.body.length)
    CodegenMetrics.METRIC_COMPILATION_TIME.update((System.nanoTime() - start) / 1000000)
    made
  }

  /** Metaspace, and the byte code that the class's own loader keeps, as measured beside the length of the source. */
  private def classBytes(source: CodeAndComment): Long = (16L << 10) + 2L * source.body.length

  private def loader: ClassLoader =
    Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)

  private def digest(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)).map(b => f"$b%02x").mkString

  private final case class Made(result: Either[Throwable, GeneratedClass], bytes: Long)

  /** A source under a loader, which it does not keep alive. */
  private final class Key(loader: ClassLoader, private val digest: String) {
    private val under = new WeakReference(loader)
    override val hashCode: Int = 31 * System.identityHashCode(loader) + digest.hashCode
    override def equals(that: Any): Boolean = that match {
      case k: Key => (this eq k) || (digest == k.digest && under.get != null && (under.get eq k.under.get))
      case _ => false
    }
  }
}
