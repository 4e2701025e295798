package io.phantoms.spark.run

import java.lang.ref.WeakReference

import scala.util.control.NonFatal

import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.run.generated.{HftaCode, InputForm, LftaCode}
import io.phantoms.spark.run.interpreted.{InterpretedHfta, InterpretedLfta}
import io.phantoms.spark.run.kernel.{HftaKernel, LftaKernel}
import io.phantoms.spark.spec.{RowSteps, SharedSpec}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.CodegenObjectFactoryMode
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeAndComment, GeneratedClass}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/**
 * How the tasks of one operator make their kernel: from the generated class, or the interpreted one. Both do the same, so
 * that tasks of one job may differ in it.
 *
 * @param generated source and references; None: interpreted from the start
 * @param interpreted None: the generated class or an error
 * @param compiled the class where it was compiled, so that it is there as long as the operator is
 */
private[spark] final class Kernels[K](
    what: String,
    generated: Option[(CodeAndComment, Array[Any])],
    interpreted: Option[() => K],
    @transient private val compiled: Option[GeneratedClass] = None
) extends Serializable
    with Logging {

  /** Called in each task. An executor that alone fails to compile interprets. */
  def make(): K = (generated, interpreted) match {
    case (Some((source, references)), Some(other)) =>
      try instance(source, references)
      catch {
        case e if Kernels.isCompilation(e) =>
          logWarning(s"spark-phantoms: $what cannot be compiled in this task, which interprets it: ${Kernels.cause(e)}")
          other()
      }
    case (Some((source, references)), None) => instance(source, references)
    case (None, Some(other)) => other()
    case (None, None) => throw new IllegalStateException(what)
  }

  private def instance(source: CodeAndComment, references: Array[Any]): K =
    Kernels.compile(source).generate(references).asInstanceOf[K]

  /** Whether every task interprets. */
  def isInterpreted: Boolean = generated.isEmpty
}

private[spark] object Kernels extends Logging {
  type Mode = CodegenObjectFactoryMode.Value

  /** What a session asks for. A strict one is not to hide that a class does not compile. */
  def mode(conf: SQLConf): Mode =
    if (conf.codegenFactoryMode == CodegenObjectFactoryMode.FALLBACK && conf.getConf(PhantomsConf.Strict)) {
      CodegenObjectFactoryMode.CODEGEN_ONLY
    } else conf.codegenFactoryMode

  /**
   * Decides on the driver, as Spark's projections do: `spark.sql.codegen.factoryMode` may ask for one kind; otherwise
   * the class is tried, and where it cannot be compiled (its methods or its constant pool outgrow what the JVM allows,
   * say) tasks interpret.
   */
  def decide[K](what: String, mode: Mode)(generate: => (CodeAndComment, Array[Any]))(
      interpreted: () => K
  ): Kernels[K] = mode match {
    case CodegenObjectFactoryMode.NO_CODEGEN =>
      logInfo(s"spark-phantoms: $what is interpreted, as spark.sql.codegen.factoryMode says")
      new Kernels(what, None, Some(interpreted))
    case CodegenObjectFactoryMode.CODEGEN_ONLY => compiled(what, generate, None)
    case _ =>
      try compiled(what, generate, Some(interpreted))
      catch {
        case e if isCompilation(e) =>
          logWarning(s"spark-phantoms: $what cannot be compiled and is interpreted, which is slower: ${cause(e)}")
          new Kernels(what, None, Some(interpreted))
      }
  }

  def lfta(
      spec: SharedSpec,
      steps: RowSteps,
      columns: IndexedSeq[(DataType, Boolean)],
      form: InputForm,
      secondChance: Boolean,
      mode: Mode
  ): Kernels[LftaKernel] =
    decide[LftaKernel](s"the map side of ${spec.notation}", mode)(
      new LftaCode(spec, steps, columns, form, secondChance).generate()
    )(() => new InterpretedLfta(spec, steps, columns.size, secondChance))

  def hfta(spec: SharedSpec, mode: Mode): Kernels[HftaKernel] =
    decide[HftaKernel](s"the reduce side of ${spec.notation}", mode)(new HftaCode(spec).generate())(() =>
      new InterpretedHfta(spec)
    )

  private def compiled[K](what: String, code: (CodeAndComment, Array[Any]), other: Option[() => K]): Kernels[K] = {
    val made = CompiledClasses.global.get(code._1)
    driverLoader = new WeakReference(Thread.currentThread.getContextClassLoader)
    new Kernels(what, Some(code), other, Some(made))
  }

  /** What the driver compiled with, in its own process. */
  @volatile private var driverLoader = new WeakReference[ClassLoader](null)

  /**
   * Classes are compiled under a class loader, and tasks have one of their own even in the driver's process. Where it
   * leaves all classes that the driver's can load to that one, the driver's class serves tasks as well, and a class of
   * megabytes is not compiled twice.
   */
  private def compile(source: CodeAndComment): GeneratedClass = {
    val thread = Thread.currentThread
    val own = thread.getContextClassLoader
    val drivers = driverLoader.get
    if (drivers == null || !Iterator.iterate(own)(_.getParent).takeWhile(_ != null).exists(_ eq drivers)) {
      CompiledClasses.global.get(source)
    } else {
      thread.setContextClassLoader(drivers)
      try CompiledClasses.global.get(source)
      finally thread.setContextClassLoader(own)
    }
  }

  /** The innermost of the failures that each layer wraps; Spark has logged the whole. */
  @scala.annotation.tailrec
  private def cause(e: Throwable): String = if (e.getCause == null) e.toString else cause(e.getCause)

  /** Failures to make or load a class: beside Janino's own, the JVM's refusal of it and a stack too small to parse it. */
  private def isCompilation(e: Throwable): Boolean = e match {
    case NonFatal(_) | _: LinkageError | _: StackOverflowError => true
    case _ => false
  }
}
