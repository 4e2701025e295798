package io.phantoms.spark.conf

import java.util.WeakHashMap

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}

/**
 * What is remembered for an application: it hangs on the SparkContext and goes with it, so that the next one in the same
 * process starts with nothing.
 *
 * @param make the first time it is asked for
 * @param end called when the application ends
 */
private[spark] final class OfApplication[T <: AnyRef](make: () => T, end: T => Unit = (_: T) => ()) {
  private val ofContexts = new WeakHashMap[SparkContext, T]

  def apply(context: SparkContext): T = ofContexts.synchronized {
    Option(ofContexts.get(context)).getOrElse {
      val made = make()
      ofContexts.put(context, made)
      context.addSparkListener(new Ends(made))
      made
    }
  }

  /** Known to the context, so it may not know the context in turn: that would keep it. */
  private final class Ends(made: T) extends SparkListener {
    override def onApplicationEnd(e: SparkListenerApplicationEnd): Unit = {
      end(made)
      val _ = ofContexts.synchronized(ofContexts.values.removeIf(_ eq made))
    }
  }
}
