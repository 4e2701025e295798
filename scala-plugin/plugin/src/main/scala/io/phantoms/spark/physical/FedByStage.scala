package io.phantoms.spark.physical

import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.run.{LftaFeed, LftaFeeds}
import io.phantoms.spark.run.generated.{InputForm, StageRowCode}
import io.phantoms.spark.spec.RowSteps

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.execution.{
  CodegenSupport,
  InputRDDCodegen,
  SerializeFromObjectExec,
  SparkPlan,
  UnionExec,
  WholeStageCodegenExec
}

/**
 * The LFTA as the end of a whole stage: the stage's code writes the columns that the kernel reads into a [[LftaFeed]]'s row
 * and has it processed, instead of writing every row for an iterator. The kernel is a class of its own still: what it does
 * with a row is too large to be compiled into the stage.
 *
 * The stage stops as any stage does once it has a row to hand on, here one of a block.
 */
private[physical] trait FedByStage extends CodegenSupport { self: LftaExec =>

  @transient private lazy val stageSteps: RowSteps = rowSteps

  /** Ordinals of the child's columns that are read. */
  @transient private lazy val columnsRead: Seq[Int] =
    (stageSteps.steps ++ stageSteps.inputs).flatMap(_.collect { case b: BoundReference => b.ordinal })
      .filter(_ < child.output.size).distinct.sorted

  @transient private lazy val childInputs: Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()
  @transient private lazy val stageInputs: Seq[RDD[InternalRow]] = childInputs.map(atLeastOne(_))

  // Names in the code of the stage, the same whenever it is made.
  private var feed: String = _
  @transient private var feeds: LftaFeeds = _
  private var row: StageRowCode = _
  private var handOn: String = _

  override def supportCodegen: Boolean =
    conf.getConf(PhantomsConf.LftaFused) && !child.supportsColumnar && FedByStage.computes(child)

  override def inputRDDs(): Seq[RDD[InternalRow]] = {
    LastExecution.running(this, spec.notation)
    // The code is made by now, maybe only to be looked at; the inputs are asked for when it is to run.
    feeds.complete(childInputs.head.getNumPartitions > 0) {
      task(stageSteps, InputForm.Stage)(stageInputs.head.getNumPartitions)
    }
    stageInputs
  }

  override def usedInputs: AttributeSet = AttributeSet(columnsRead.map(child.output))

  // A row may give several blocks, each a row of its own.
  override def needCopyResult: Boolean = false
  override def needStopCheck: Boolean = true
  override def limitNotReachedChecks: Seq[String] = Nil

  override protected def doProduce(ctx: CodegenContext): String = {
    feed = ctx.addMutableState(classOf[LftaFeed].getName, "lfta", forceInline = true)
    row = StageRowCode(
      ctx.addMutableState("long[]", "lftaWords", forceInline = true),
      ctx.addMutableState("Object[]", "lftaObjects", forceInline = true),
      ctx.addMutableState("boolean[]", "lftaNulls", forceInline = true)
    )
    val block = ctx.freshName("block")
    val handOnName = ctx.freshName("handOnBlocks")
    handOn = ctx.addNewFunction(
      handOnName,
      s"""
         |private void $handOnName() throws java.io.IOException {
         |  while ($feed.hasBlock()) {
         |    UnsafeRow $block = $feed.nextBlock();
         |    ${consume(ctx, null, block)}
         |  }
         |}""".stripMargin
    )
    val readName = ctx.freshName("readInput")
    // What a source's code reads of the iterator is out of reach for nested classes.
    val read = ctx.addNewFunction(
      readName,
      s"""
         |private void $readName() throws java.io.IOException {
         |  ${child.asInstanceOf[CodegenSupport].produce(ctx, this)}
         |}""".stripMargin,
      inlineToOuterClass = true
    )
    feeds = new LftaFeeds(child.output.map(_.dataType).toArray)
    ctx.addPartitionInitializationStatement(
      s"""
         |$feed = ${ctx.addReferenceObj("lfta", feeds)}.open(partitionIndex);
         |${row.words} = $feed.row().words();
         |${row.objects} = $feed.row().objects();
         |${row.nulls} = $feed.row().nulls();""".stripMargin
    )
    s"""
       |$feed.resume();
       |$handOn();
       |if (!shouldStop() && $feed.isReading()) {
       |  $read();
       |}
       |if (!shouldStop()) {
       |  $feed.end();
       |  $handOn();
       |}""".stripMargin
  }

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], unused: ExprCode): String = {
    val writes = columnsRead.map { c =>
      val (column, value) = (child.output(c), input(c))
      row.write(c, column.dataType, Option.when(column.nullable)(value.isNull.toString), value.value.toString)
    }
    s"""
       |${writes.mkString("\n")}
       |$feed.process();
       |if ($feed.hasBlock()) { $handOn(); }""".stripMargin
  }

  /** The rows of the child; where Spark has made the code of the stage and does not run it, from a stage of their own. */
  private[physical] def childRows(): RDD[InternalRow] = child match {
    case c: CodegenSupport if parent != null => WholeStageCodegenExec(c)(FedByStage.Temporary).execute()
    case other => other.execute()
  }
}

private object FedByStage {

  /** Spark's number for stages that stand in for others. */
  private val Temporary = 0

  /** Whether code of a whole stage computes the rows of a plan: code that only goes through an iterator has nothing to save. */
  private def computes(plan: SparkPlan): Boolean = plan match {
    case _: InputRDDCodegen => false
    case c: CodegenSupport => c.supportCodegen && !c.expressions.exists(_.exists(needsRow)) && !isRefused(c)
    case _ => false
  }

  /** What a stage may hold somewhere. */
  private def isRefused(plan: SparkPlan): Boolean = plan match {
    // Its branches look at partitions of their own even where there is none.
    case _: UnionExec => true
    // Users' code may hand out one array again and again.
    case _: SerializeFromObjectExec => true
    case c: CodegenSupport if c.supportCodegen => c.children.exists(isRefused)
    case _ => false
  }

  private def needsRow(e: Expression): Boolean = e.isInstanceOf[CodegenFallback] && !e.isInstanceOf[LeafExpression]
}
