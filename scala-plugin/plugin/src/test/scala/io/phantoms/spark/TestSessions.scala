package io.phantoms.spark

import java.nio.file.Files
import java.util.concurrent.ConcurrentHashMap

import io.phantoms.spark.decide.Choosing
import io.phantoms.spark.stats.observed.ObservationStore
import io.phantoms.spark.stats.supplied.StatsRegistry

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.sql.{SparkSession => AnySession, SparkSessionExtensions}
import org.apache.spark.sql.classic.SparkSession

/**
 * Sessions for suites: a new one each, with its own extensions, catalog, cache and confs, over one context where that can
 * be. A suite whose master or confs of the application are others than those of the context that runs gets its own.
 */
object TestSessions {
  private val common = Map("spark.ui.enabled" -> "false", "spark.unsafe.exceptionOnMemoryLeak" -> "true")
  private var kept: Option[(Map[String, String], SparkContext)] = None

  def start(
      confs: Map[String, String],
      master: String = "local[2]",
      extensions: SparkSessionExtensions => Unit = _ => ()
  ): SparkSession = synchronized {
    forgetSessions()
    rememberMisses()
    val (ofSession, ofApplication) = confs.partition { case (k, _) =>
      k.startsWith("spark.sql.") || k.startsWith("spark.phantoms.")
    }
    val wanted = common ++ ofApplication + ("spark.master" -> master)
    val context = kept.collect { case (`wanted`, c) if !c.isStopped => c }.getOrElse {
      stop()
      val created = new SparkContext(new SparkConf().setAll(wanted).setAppName("phantoms"))
      kept = Some(wanted -> created)
      created
    }
    // What is kept between queries is the context's: a suite begins without it, whatever ran before.
    StatsRegistry.of(context).clear()
    Choosing.forget(context)
    ObservationStore.of(context).clear("")
    // Of the confs, the builder reads this one from the context alone.
    val named = ofSession.get(Extensions).toSeq.flatMap(_.split(',')).map(newExtensions)
    val builder = AnySession.builder().withExtensions(e => (named :+ extensions).foreach(_(e)))
    // Spark's own suites leave the JVM in another zone than they find it in.
    val ofSuites = Map(
      "spark.sql.warehouse.dir" -> Files.createTempDirectory("phantoms-warehouse").toString,
      "spark.sql.session.timeZone" -> "UTC",
      // Plans are not to depend on how busy a machine is.
      "spark.phantoms.stats.sample.time" -> "1h"
    )
    (ofSuites ++ ofSession)
      .foreach { case (k, v) => builder.config(k, v) }
    val session = builder.getOrCreate().asInstanceOf[SparkSession]
    assert(session.sparkContext eq context, "a session of another context was still there")
    session
  }

  /** Ends a suite's session and all that it has running; the context stays for the next one. */
  def end(session: AnySession): Unit = synchronized {
    if (session != null) {
      val classic = session.asInstanceOf[SparkSession]
      val context = classic.sparkContext
      if (!context.isStopped) {
        classic.streams.active.foreach(_.stop())
        context.cancelAllJobs()
        classic.catalog.clearCache()
        context.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))
        context.clearJobGroup()
        context.setJobDescription(null)
        // Each session without a common state adds one, which the next ones would feed.
        classic.sharedState.statusStore.listener.foreach(context.removeSparkListener)
      }
      // Executors of a cluster are processes, which would take memory from the suites to come.
      if (!context.master.startsWith("local[")) stop()
      forgetSessions()
    }
  }

  private def stop(): Unit = {
    kept.foreach(_._2.stop())
    kept = None
  }

  /** A context that somebody else left is stopped: its confs are not known. */
  private def forgetSessions(): Unit = {
    (AnySession.getActiveSession ++ AnySession.getDefaultSession).foreach { s =>
      val context = s.asInstanceOf[SparkSession].sparkContext
      if (!kept.exists(_._2 eq context)) context.stop()
    }
    AnySession.clearActiveSession()
    AnySession.clearDefaultSession()
  }

  private val Extensions = "spark.sql.extensions"

  private def newExtensions(name: String): SparkSessionExtensions => Unit =
    Class.forName(name.trim).getConstructor().newInstance().asInstanceOf[SparkSessionExtensions => Unit]

  /** The compiler of generated code asks for many classes that are not there, and each time all jars are searched. */
  private def rememberMisses(): Unit = Thread.currentThread.getContextClassLoader match {
    case _: MissesRemembered =>
    case loader => Thread.currentThread.setContextClassLoader(new MissesRemembered(loader))
  }

  private final class MissesRemembered(parent: ClassLoader) extends ClassLoader(parent) {
    private val missing = ConcurrentHashMap.newKeySet[String]()

    override protected def loadClass(name: String, resolve: Boolean): Class[_] =
      if (missing.contains(name)) throw new Missing(name)
      else
        try parent.loadClass(name)
        catch {
          case e: ClassNotFoundException =>
            missing.add(name)
            throw e
        }
  }

  private final class Missing(name: String) extends ClassNotFoundException(name) {
    override def fillInStackTrace(): Throwable = this
  }
}
