package io.phantoms.spark.run.generated

import io.phantoms.spark.functions.{ExpressionCost, FieldType, StaysIf}
import io.phantoms.spark.run.kernel.LftaKernel
import io.phantoms.spark.spec.{RowSteps, SharedSpec, ShipSpec}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Source of a map-side kernel: one class per configuration, see [[LftaKernel]].
 *
 * For each relation fed by the input a method `root_r` (probe, install or hit, update), for each fed by another relation
 * `feed_r` (probe, install or merge), and for each `evict_r` (feed the children, ship). The key words of a root are
 * packed by the caller; a child's are cut out of its parent's record. Table sizes are not part of the source, so that
 * another size needs no other class.
 *
 * @param steps what is done with a row first, bound to the child's columns; its inputs are keys first, then what the
 *   aggregate functions read
 * @param columns the child's columns: type and nullability
 * @param form how the child's rows come
 * @param secondChance whether a group has a second bucket, see [[probe]]
 */
final class LftaCode(
    spec: SharedSpec,
    steps: RowSteps,
    columns: IndexedSeq[(DataType, Boolean)],
    form: InputForm,
    secondChance: Boolean
) {
  private val ctx = new CodegenContext
  private val columnar = form == InputForm.Batches
  private val aggregates = new AggregateCode(ctx, spec)
  private val inputs = steps.inputs
  private val input = new InputCode(ctx, columns, form, inputs ++ steps.steps, steps.values)
  private val records = spec.layouts.map(new RecordCode(spec, _))
  private val methods = new SplitCode
  private val builder = classOf[io.phantoms.spark.block.BlockBuilder].getName
  private val hashing = classOf[io.phantoms.spark.block.Hashing].getName

  /** First slot (relation, shard) of each relation, see [[LftaKernel.open]]. */
  private val firstSlot = spec.relations.map(_.ship.fold(0)(_.partitions.size)).scanLeft(0)(_ + _)

  private def hasTable(r: Int): Boolean = spec.relations(r).buckets > 0

  def generate(): (CodeAndComment, Array[Any]) = {
    val relations = spec.mapSide.map(relation).mkString("\n")
    val process = processMethods
    val tables = spec.mapSide.filter(hasTable)
    val evictFrom = tables.map(r => s"case $r: return evictFrom_$r(from);").mkString("\n")
    val allocate = spec.mapSide.map { r =>
      val stride = spec.layouts(r).stride
      if (!hasTable(r)) s"t_$r = new long[$stride];"
      else
        s"t_$r = new long[$stride << log2Buckets[$r]]; s_$r = 63 - log2Buckets[$r]; x_$r = new long[$stride]; " +
          s"left_$r = window($r);"
    }.mkString("\n")
    val body =
      s"""
         |public Object generate(Object[] references) { return new PhantomsLfta(references); }
         |
         |class PhantomsLfta extends ${classOf[LftaKernel].getName} {
         |  private Object[] references;
         |  ${ctx.declareMutableStates()}
         |  public PhantomsLfta(Object[] references) {
         |    this.references = references;
         |    ${ctx.initMutableStates()}
         |  }
         |  protected void allocate() {
         |    $allocate
         |    ${ctx.initPartition()}
         |  }
         |  $process
         |  $relations
         |  ${methods.declared}
         |  protected int[] tables() { return new int[] {${tables.mkString(", ")}}; }
         |  protected int evictFrom(int relation, int from) {
         |    switch (relation) { $evictFrom }
         |    return -1;
         |  }
         |  ${ctx.declareAddedFunctions()}
         |}""".stripMargin
    (
      CodeFormatter.stripOverlappingComments(new CodeAndComment(body, ctx.getPlaceHolderToComments())),
      ctx.references.toArray
    )
  }

  private def processMethods: String = {
    val roots = spec.mapSide.filter(spec.relations(_).parent < 0)
    val keys = roots.flatMap(spec.relations(_).keys).distinct.sorted
    val relieve = if (spec.refersBeside) "relieve();" else ""
    // Keys after the steps: a key's expression must not fail on a row that a filter removes. In batches values, which no
    // key and no condition has a use for there, are computed when the row is aggregated.
    val valueOrdinals = Iterator.from(0)
    val stepCode = steps.steps.map {
      case StaysIf(condition) =>
        val loads = input.withColumns(Seq(condition))
        val c = condition.genCode(ctx)
        s"$loads\n${c.code}\nif (${c.isNull} || !${c.value}) { dropped++; ${if (batched) "continue" else "return"}; }"
      case _ =>
        val value = valueOrdinals.next()
        if (batched) "" else input.compute(value)
    }.mkString("\n")
    val keyLoads = input.withColumns(keys.map(inputs))
    val keyVars = ctx.currentVars
    val (keyCode, bits, nulls) = keys.map { k =>
      ctx.currentVars = keyVars
      evaluateKey(k)
    }.unzip3
    val bitsOf = keys.zip(bits).toMap
    val nullOf = keys.zip(nulls).toMap
    val calls = roots.map { r =>
      val code = records(r)
      val enter = if (batched) enqueue(r) else s"root_$r(${rootArguments(r).mkString(", ")});"
      s"""{
         |${code.packKeys(bitsOf, nullOf)}
         |${if (hasTable(r)) code.hash(if (batched) Some(s"pass_$r") else None) else "final long h = 0L;"}
         |$enter
         |}""".stripMargin
    }.mkString("\n")
    val row =
      s"""$stepCode
         |${if (batched) "" else "rows++;"}
         |$keyLoads
         |${keyCode.mkString("\n")}
         |$calls""".stripMargin
    if (batched) batchedProcess(roots, row)
    else {
      val entry =
        if (columnar)
          s"""
             |public void process(${classOf[ColumnarBatch].getName} batch) {
             |  final int n = batch.numRows();
             |  ${input.loadBatch}
             |  for (int i = resumed(); i < n; i++) {
             |    if (pauses(i)) { return; }
             |    processOne(i);
             |  }
             |}""".stripMargin
        else
          s"""
             |public void process(${classOf[InternalRow].getName} row) { ${input.loadRow} processOne(); }""".stripMargin
      s"""
         |${input.fields}
         |${input.valueMethods}
         |$entry
         |private void processOne(${input.parameter}) {
         |  $relieve
         |  $row
         |}
         |""".stripMargin
    }
  }

  /**
   * Whether rows are looked at in batches: all keys of a batch first, then what their tables hold for them, then one row
   * after the other as ever. Probes into tables beyond the cache wait for memory together that way. Only where nothing
   * in a key can fail, so that errors come in the order of the rows, and where no key needs the dictionary, which is
   * emptied between rows.
   */
  private val batched: Boolean = columnar && LftaCode.batches(spec, steps, columns.size)

  private def rootArguments(r: Int): Seq[String] =
    (if (columnar) Seq("i") else Nil) ++ records(r).keyLocals :+ "h"

  /** Puts the key locals and the hash `h` of the current row aside. */
  private def enqueue(r: Int): String = {
    val locals = records(r).keyLocals
    val stores = locals.zipWithIndex.map { case (name, w) => s"k_$r[count * ${locals.size} + $w] = $name;" }
    (stores :+ s"h_$r[count] = h;").mkString("\n")
  }

  /**
   * The loops over a batch's keys and over its roots lie in one method each: what a loop calls row by row is too large to
   * be compiled into it, and fields are read anew after a call, locals are not.
   *
   * @param keys computes and puts aside the keys of row `i`, or goes on with the next row
   */
  private def batchedProcess(roots: Seq[Int], keys: String): String = {
    val batch = classOf[LftaKernel].getName + ".BATCH"
    val fields = roots.map { r =>
      s"private final long[] k_$r = new long[$batch * ${records(r).keyLocals.size}]; " +
        s"private final long[] h_$r = new long[$batch];"
    }.mkString("\n")
    val queues = roots.map(r => s"final long[] k_$r = this.k_$r; final long[] h_$r = this.h_$r;").mkString("\n")
    val tables = roots.filter(hasTable)
    val passes = tables.map(r => s"final boolean pass_$r = this.pass_$r;").mkString("\n")
    // Between batches, so that all keys of one are hashed, or none.
    val adapts = tables.map(r => adapt(r, batch)).mkString("\n")
    val touches = tables.map { r =>
      val stride = spec.layouts(r).stride
      s"if (!pass_$r && t_$r.length > CACHED) { touched += touch(t_$r, h_$r, count, s_$r, $stride); }"
    }.mkString("\n")
    val inlined = roots.size <= LftaCode.InlinedRoots
    val locals =
      if (!inlined) ""
      else roots.map { r =>
        s"final long[] t_$r = this.t_$r; " +
          (if (hasTable(r)) s"final int s_$r = this.s_$r; final long[] x_$r = this.x_$r;" else "")
      }.mkString("\n")
    val updates = roots.map { r =>
      val locals = records(r).keyLocals
      val loads = locals.zipWithIndex.map { case (name, w) => s"final long $name = k_$r[j * ${locals.size} + $w];" }
      s"""{
         |${loads.mkString("\n")}
         |final long h = h_$r[j];
         |${if (inlined) rootBody(r) else s"root_$r(${rootArguments(r).mkString(", ")});"}
         |}""".stripMargin
    }.mkString("\n")
    s"""
       |${input.fields}
       |${input.valueMethods}
       |$fields
       |private final int[] rowOf = new int[$batch];
       |public void process(${classOf[ColumnarBatch].getName} batch) {
       |  final int n = batch.numRows();
       |  ${input.loadBatch}
       |  for (int from = 0; from < n; from += $batch) {
       |    $adapts
       |    final int count = enqueue(from, Math.min(n, from + $batch));
       |    rows += count;
       |    $touches
       |    update(count);
       |  }
       |}
       |private int enqueue(int from, int until) {
       |  ${input.locals}
       |  $queues
       |  $passes
       |  final int[] rowOf = this.rowOf;
       |  int count = 0;
       |  for (int i = from; i < until; i++) {
       |    $keys
       |    rowOf[count++] = i;
       |  }
       |  return count;
       |}
       |private void update(int count) {
       |  ${input.locals}
       |  $queues
       |  ${if (inlined) passes else ""}
       |  $locals
       |  final int[] rowOf = this.rowOf;
       |  for (int j = 0; j < count; j++) {
       |    final int i = rowOf[j];
       |    ${steps.values.indices.map(input.compute).mkString("\n")}
       |    $updates
       |  }
       |}
       |${if (inlined) "" else roots.map(root).mkString("\n")}
       |""".stripMargin
  }

  /** Evaluates a key: (code, Java text of its bits, Java text of its null test). */
  private def evaluateKey(k: Int): (String, String, Option[String]) = {
    val nullable = spec.keys(k).nullable
    val field = spec.keys(k).field
    val (code, isNull, value) = field match {
      case _: FieldType.RowField =>
        val row = GenerateUnsafeProjection.createCode(ctx, Seq(inputs(k)))
        val name = ctx.freshName("row")
        (
          s"${row.code}\nfinal org.apache.spark.sql.catalyst.expressions.UnsafeRow $name = ${row.value};",
          s"$name.isNullAt(0)",
          name
        )
      case _ =>
        val e = inputs(k).genCode(ctx)
        (e.code.toString, e.isNull.toString, e.value.toString)
    }
    val name = ctx.freshName("key")
    if (!nullable) (s"$code\nfinal long $name = ${field.toBits(value)};", name, None)
    else {
      val nullName = ctx.freshName("keyIsNull")
      (
        s"$code\nfinal boolean $nullName = $isNull;\nfinal long $name = $nullName ? 0L : ${field.toBits(value)};",
        name,
        Some(nullName)
      )
    }
  }

  private def relation(r: Int): String = {
    val spec0 = spec.relations(r)
    val stride = spec.layouts(r).stride
    val fields =
      s"private long[] t_$r; private int s_$r; private long[] x_$r; private int left_$r; private boolean pass_$r;"
    // Roots of batches are part of what processes these.
    val entry = if (spec0.parent >= 0) feed(r) else if (batched) "" else root(r)
    val evict = evictMethod(r)
    val all =
      if (!hasTable(r)) ""
      else s"""
              |private int evictFrom_$r(int from) {
              |  final long[] t = t_$r;
              |  for (int o = from; o < t.length; o += $stride) {
              |    if (t[o] < 0L) {
              |      evictedAtEnd[$r]++;
              |      evict_$r(t, o);
              |      t[o] = 0L;
              |      if (crowded()) { return o + $stride; }
              |    }
              |  }
              |  return -1;
              |}""".stripMargin
    s"$fields\n$entry\n$evict\n$all"
  }

  /** Java text that lets relation `r` look at what its table is worth once `fed` more entries have come. */
  private def adapt(r: Int, fed: String): String =
    s"if ((left_$r -= $fed) < 0) { left_$r = adapt($r); pass_$r = bypassed[$r]; }"

  /**
   * Finds the record for the key locals and their hash `h`; runs `install` on a miss and `hit` on a hit. Declares `t` and
   * `o`: a bucket, or the relation's spare record, which [[pass]] evicts once it is complete.
   *
   * With a second chance (Cormode et al., Holistic UDAFs at streaming speeds, section 6) a group that finds another one in its
   * bucket looks into a second one; where both are others', the first of these is ejected.
   */
  private def probe(r: Int, adapts: Boolean, install: String, hit: String): String = {
    val code = records(r)
    if (!hasTable(r))
      s"""final long[] t = t_$r;
         |final int o = 0;
         |misses[$r]++;
         |${code.storeKeys("t", "o")}
         |$install""".stripMargin
    else {
      val stride = spec.layouts(r).stride
      val found = if (secondChance) "found" else code.matches("t", "o")
      val second =
        if (!secondChance) ""
        else s"""boolean found = ${code.matches("t", "o")};
                |if (!found && !pass_$r && t[o] < 0L) {
                |  final int second = (int) ($hashing.second(h) >>> 1 >>> s_$r) * $stride;
                |  found = ${code.matches("t", "second")};
                |  if (found || t[second] >= 0L) { o = second; }
                |}""".stripMargin
      s"""${if (adapts) adapt(r, "1") else ""}
         |long[] t = t_$r;
         |int o = (int) (h >>> 1 >>> s_$r) * $stride;
         |if (pass_$r) { t = x_$r; o = 0; passed[$r]++; }
         |$second
         |if ($found) {
         |  $hit
         |} else {
         |  if (!pass_$r) {
         |    misses[$r]++;
         |    if (t[o] < 0L) { evict_$r(t, o); }
         |  }
         |  ${code.storeKeys("t", "o")}
         |  $install
         |}""".stripMargin
    }
  }

  /** Java text that hands on what did not get a bucket. */
  private def pass(r: Int): String =
    if (hasTable(r)) s"if (t == x_$r) { evict_$r(t, 0); t[0] = 0L; }" else s"evict_$r(t, 0);"

  private def root(r: Int): String = {
    val parameters = (if (columnar) Seq("int i") else Nil) ++ Seq(records(r).keyParameters, "long h")
    s"private void root_$r(${parameters.mkString(", ")}) { ${rootBody(r)} }"
  }

  /** Updates the group of the key locals and their hash `h` from the current row. */
  private def rootBody(r: Int): String = {
    val code = records(r)
    val install = aggregates.initialize(code, "t", "o")
    val parameters = (Seq("long[] t", "int o") :+ input.parameter).filter(_.nonEmpty).mkString(", ")
    val arguments = (Seq("t", "o") :+ input.argument).filter(_.nonEmpty).mkString(", ")
    val parts = SplitCode.grouped(spec.layouts(r).aggregates)(a =>
      spec.aggregates(a).function.updateExpressions.map(SplitCode.length).sum
    ).map(update(r, _))
    s"""
       |${probe(r, adapts = !batched, install, "")}
       |${methods.calls(s"update_$r", parameters, arguments, parts)}
       |${pass(r)}""".stripMargin
  }

  /** Updates the buffers of some functions of a relation from the current row. */
  private def update(r: Int, functions: Seq[Int]): String = {
    val read = spec.inputsOf(functions)
    val loads = input.withColumns(read.map(inputs))
    val columnVars = ctx.currentVars
    val vars = Array.fill[ExprCode](inputs.size)(null)
    val evaluated = read.map { j =>
      ctx.currentVars = columnVars
      val e = inputs(j).genCode(ctx)
      vars(j) = ExprCode(e.isNull, e.value)
      e.code.toString
    }.mkString("\n")
    s"$loads\n$evaluated\n${aggregates.update(functions, records(r), "t", "o", vars.toSeq)}"
  }

  private def feed(r: Int): String = {
    val code = records(r)
    val parent = records(spec.relations(r).parent)
    val install = code.copyBuffers("t", "o", parent, "s", "a")
    val parts = aggregates.merge(code, "t", "o", parent, "s", "a", spec.layouts(r).aggregates)
    val hit = methods.calls(s"merge_$r", "long[] t, int o, long[] s, int a", "t, o, s, a", parts)
    s"""
       |private void feed_$r(long[] s, int a) {
       |  ${code.packKeysFrom(parent, "s", "a")}
       |  ${if (hasTable(r)) code.hash() else ""}
       |  ${probe(r, adapts = true, install, hit)}
       |  ${pass(r)}
       |}""".stripMargin
  }

  private def evictMethod(r: Int): String = {
    val feeds = spec.children(r).filterNot(spec.relations(_).derived).map(c => s"feed_$c(t, o);").mkString("\n")
    val (call, method) = spec.relations(r).ship match {
      case None => ("", "")
      case Some(s) => (s"ship_$r(t, o);", shipMethod(r, s))
    }
    s"""
       |private void evict_$r(long[] t, int o) {
       |  evictions[$r]++;
       |  $call
       |  $feeds
       |  ${records(r).freeObjects("t", "o")}
       |}
       |$method""".stripMargin
  }

  private def shipMethod(r: Int, ship: ShipSpec): String = {
    val code = records(r)
    val slot =
      if (ship.partitions.size == 1) s"${firstSlot(r)}"
      else s"${firstSlot(r)} + $hashing.shard(${code.shardHash(ship.shardKey, "t", "o")}, ${ship.partitions.size})"
    s"""
       |private void ship_$r(long[] t, int o) {
       |  final int slot = $slot;
       |  final $builder b = builder(slot);
       |  boolean full;
       |  ${code.append("b", "t", "o", "full")}
       |  shipped++;
       |  if (full) { finish(slot); }
       |}""".stripMargin
  }
}

object LftaCode {

  /** Roots up to which a batch is updated in one method: with many, it would be too large for the compiler. */
  private val InlinedRoots = 4

  /** Whether kernels of these expressions look at columnar input in batches. */
  private[spark] def batches(spec: SharedSpec, steps: RowSteps, columns: Int): Boolean = {
    val ahead = steps.inputs.take(spec.keys.size) ++ steps.steps.filter(_.isInstanceOf[StaysIf])
    // A value computed before a condition may fail on a row that the condition drops.
    val ordered = !steps.steps.dropWhile(_.isInstanceOf[StaysIf]).exists(_.isInstanceOf[StaysIf])
    !spec.refersBeside && ordered && !ahead.exists(ExpressionCost.canFail) &&
    !ahead.exists(_.exists { case b: BoundReference => b.ordinal >= columns; case _ => false })
  }
}
