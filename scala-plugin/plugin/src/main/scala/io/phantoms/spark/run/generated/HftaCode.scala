package io.phantoms.spark.run.generated

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnsafeRow}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.types._

import io.phantoms.spark.block.{BlockBuilder, Hashing}
import io.phantoms.spark.run.kernel.HftaKernel
import io.phantoms.spark.spec.SharedSpec
import io.phantoms.spark.table.GroupTable

/** Source of a reduce-side kernel: merging received records, deriving coarser relations, writing result rows. */
final class HftaCode(spec: SharedSpec) {
  private val ctx = new CodegenContext
  private val aggregates = new AggregateCode(ctx, spec)
  private val records = spec.layouts.map(new RecordCode(spec, _))
  private val split = new SplitCode
  private val table = classOf[GroupTable].getName
  private val builder = classOf[BlockBuilder].getName
  private val hashing = classOf[Hashing].getName
  private val complete =
    spec.relations.indices.filter(r => spec.relations(r).derived || spec.relations(r).ship.isDefined)

  /** Relations with dictionary ids. Derived ones too: what did not fit into memory is read back as blocks. */
  private val remaps =
    complete.filter(r => records(r).dictionaryFields.nonEmpty || spec.layouts(r).objectPlaces.nonEmpty)

  /** Relations that are shipped again. */
  private val reshipped = complete.filter(r => spec.relations(r).derived && spec.relations(r).ship.isDefined)

  def generate(): (CodeAndComment, Array[Any]) = {
    val derived = complete.filter(spec.relations(_).derived)
    val combined = complete.filter(r => spec.queries.exists(q => q.relation == r && q.combines))
    val methods = complete.map(merge) ++ derived.map(derive) ++ complete.map(append) ++ complete.map(initialize) ++
      combined.map(combine) ++ spec.emitted.indices.map(emit) ++ remaps.map(remap) ++ complete.map(
        contentHash
      ) ++ reshipped.map(shard)
    val body =
      s"""
         |public Object generate(Object[] references) { return new PhantomsHfta(references); }
         |
         |class PhantomsHfta extends ${classOf[HftaKernel].getName} {
         |  private Object[] references;
         |  ${ctx.declareMutableStates()}
         |  public PhantomsHfta(Object[] references) {
         |    this.references = references;
         |    ${ctx.initMutableStates()}
         |    ${ctx.initPartition()}
         |  }
         |  protected void mergeAll(int relation, $table g, long[] s, int count) {
         |    switch (relation) { ${cases(complete, r => s"mergeAll_$r(g, s, count);")} }
         |  }
         |  protected void remap(int relation, long[] t, int o, int[] ids) {
         |    switch (relation) { ${cases(remaps, r => s"remap_$r(t, o, ids);")} }
         |  }
         |  protected void deriveAll(int child, $table g, long[] s, int count) {
         |    switch (child) { ${cases(derived, r => s"deriveAll_$r(g, s, count);")} }
         |  }
         |  public void combine(int relation, long[] t, int o, long[] s, int a) {
         |    switch (relation) { ${cases(combined, r => s"combine_$r(t, o, s, a);")} }
         |  }
         |  public void initialize(int relation, long[] t) {
         |    switch (relation) { ${cases(complete, r => s"initialize_$r(t);")} }
         |  }
         |  public long[] project(int child, long[] s, int a) {
         |    switch (child) { ${cases(derived, r => s"return project_$r(s, a);", breaks = false)} }
         |  }
         |  public boolean append(int relation, $builder block, long[] t, int o) {
         |    switch (relation) { ${cases(complete, r => s"return append_$r(block, t, o);", breaks = false)} }
         |  }
         |  public long contentHash(int relation, long[] t, int o) {
         |    switch (relation) { ${cases(complete, r => s"return contentHash_$r(t, o);", breaks = false)} }
         |  }
         |  public int shard(int relation, long[] t, int o) {
         |    switch (relation) { ${cases(reshipped, r => s"return shard_$r(t, o);", breaks = false)} }
         |  }
         |  public ${classOf[UnsafeRow].getName} emit(int query, long[] t, int o) {
         |    switch (query) { ${spec.emitted.indices.map(q => s"case $q: return emit_$q(t, o);").mkString("\n")} }
         |    throw new IllegalStateException();
         |  }
         |  ${methods.mkString("\n")}
         |  ${split.declared}
         |  ${ctx.declareAddedFunctions()}
         |}""".stripMargin
    (
      CodeFormatter.stripOverlappingComments(new CodeAndComment(body, ctx.getPlaceHolderToComments())),
      ctx.references.toArray
    )
  }

  private def cases(relations: Seq[Int], body: Int => String, breaks: Boolean = true): String =
    relations.map(r => s"case $r: { ${body(r)}\n${if (breaks) "break;" else ""} }").mkString("\n") +
      "\ndefault: throw new IllegalStateException();"

  /**
   * Merges `count` records of the layout of `source`, a batch at a time.
   *
   * @param prepare called for record `i` of the batch, at `a` of `s`; answers its hash
   * @param from where the batch's records, in the layout of relation `r`, lie then, and the first one's offset
   * @param before what is done before each batch
   */
  private def batches(r: Int, source: Int, prepare: String, from: (String, String), before: String = ""): String = {
    val (array, first) = from
    s"""
       |  final long[] hs = hashes;
       |  int k = 0;
       |  try {
       |    while (k < count) {
       |      $before
       |      final int n = Math.min($table.BATCH, count - k);
       |      int a = k * ${spec.layouts(source).stride};
       |      final int b = $first;
       |      for (int i = 0; i < n; i++, a += ${spec.layouts(source).stride}) { hs[i] = $prepare; }
       |      touched += g.touch(hs, n);
       |      for (int i = 0, o = b; i < n; i++, o += ${spec.layouts(r).stride}, k++) { merge_$r(g, $array, o, hs[i]); }
       |    }
       |  } finally { merged = k; }""".stripMargin
  }

  // A method a relation: all in one would be more than the JVM compiles, and with hundreds of them more than it loads.
  private def contentHash(r: Int): String =
    s"""
       |private long contentHash_$r(long[] t, int o) {
       |  return $hashing.finish(${records(r).shardHash(spec.dealing(r), "t", "o")});
       |}""".stripMargin

  private def shard(r: Int): String = {
    val ship = spec.relations(r).ship.get
    s"""
       |private int shard_$r(long[] t, int o) {
       |  return $hashing.shard(${records(r).shardHash(ship.shardKey, "t", "o")}, ${ship.partitions.size});
       |}""".stripMargin
  }

  private def remap(r: Int): String =
    s"""
       |private void remap_$r(long[] t, int o, int[] ids) {
       |  ${records(r).rewriteIds("t", "o", id => s"(long) ids[$id]")}
       |}""".stripMargin

  private def append(r: Int): String =
    s"""
       |private boolean append_$r($builder block, long[] t, int o) {
       |  boolean full;
       |  ${records(r).append("block", "t", "o", "full")}
       |  return full;
       |}""".stripMargin

  /** Merges a record of the same layout: [[GroupTable]]'s probe. */
  private def merge(r: Int): String = {
    val code = records(r)
    val parts = aggregates.merge(code, "t", "o", code, "s", "a", spec.layouts(r).aggregates)
    val hit = split.calls(s"hit_$r", "long[] t, int o, long[] s, int a", "t, o, s, a", parts)
    val stride = spec.layouts(r).stride
    s"""
       |private void mergeAll_$r($table g, long[] s, int count) {
       |  ${batches(r, r, s"hash_$r(s, a)", ("s", "a"))}
       |}
       |private long hash_$r(long[] s, int a) {
       |  ${code.packKeysFrom(code, "s", "a")}
       |  ${code.hash()}
       |  return h;
       |}
       |private void merge_$r($table g, long[] s, int a, long h) {
       |  ${code.packKeysFrom(code, "s", "a")}
       |  final long[] index = g.index;
       |  final int mask = index.length - 1;
       |  int p = (int) h >>> g.shift;
       |  while (true) {
       |    final long e = index[p];
       |    if (e == 0L) { g.insert(h, p, s, a); return; }
       |    if ((int) (e >>> 32) == (int) h) {
       |      final long[] t = g.records;
       |      final int o = ((int) e - 1) * $stride;
       |      if (${code.matches("t", "o")}) { hit_$r(t, o, s, a); ${code.freeObjects("s", "a")} return; }
       |    }
       |    p = (p + 1) & mask;
       |  }
       |}
       |private void hit_$r(long[] t, int o, long[] s, int a) {
       |  $hit
       |}""".stripMargin
  }

  /** Copies of records have the objects of these, which are not theirs; no result that is put together is of any. */
  private def combine(r: Int): String = {
    val body =
      if (spec.layouts(r).objectPlaces.isEmpty) s"hit_$r(t, o, s, a);"
      else {
        val functions = spec.layouts(r).aggregates.filterNot(spec.isObject)
        val parts = aggregates.merge(records(r), "t", "o", records(r), "s", "a", functions)
        split.calls(s"combine_$r", "long[] t, int o, long[] s, int a", "t, o, s, a", parts)
      }
    s"private void combine_$r(long[] t, int o, long[] s, int a) { $body }"
  }

  private def derive(r: Int): String = {
    val code = records(r)
    val settle = if (spec.layouts(r).objectPlaces.isEmpty) "" else "objects.settle();"
    val parent = records(spec.relations(r).parent)
    val stride = spec.layouts(r).stride
    s"""
       |private void deriveAll_$r($table g, long[] s, int count) {
       |  final long[] y = projected($table.BATCH * $stride);
       |  ${batches(r, spec.relations(r).parent, s"project_$r(s, a, y, i * $stride)", ("y", "0"), settle)}
       |}
       |private long[] project_$r(long[] s, int a) {
       |  final long[] y = projected($stride);
       |  project_$r(s, a, y, 0);
       |  return y;
       |}
       |private long project_$r(long[] s, int a, long[] y, int o) {
       |  ${code.packKeysFrom(parent, "s", "a")}
       |  ${code.storeKeys("y", "o")}
       |  ${code.copyBuffers("y", "o", parent, "s", "a")}
       |  ${code.hash()}
       |  return h;
       |}""".stripMargin
  }

  private def initialize(r: Int): String =
    s"""
       |private void initialize_$r(long[] t) {
       |  t[0] = Long.MIN_VALUE;
       |  ${aggregates.initialize(records(r), "t", "0")}
       |}""".stripMargin

  /**
   * Writes a result row. The first one is written by Spark's projection; where all results that vary are of fixed width,
   * later ones only set those in a copy of it: many are the NULLs and names of a query among many.
   */
  private def emit(q: Int): String = {
    val r = spec.emitted(q).relation
    val ResultExpressions(onKeys, totals, having, bound) = ResultExpressions(spec, spec.emitted(q))
    def withLoads(read: Seq[Expression]): String = {
      val (loads, vars) = aggregates.load(read, records(r), "t", "o")
      ctx.INPUT_ROW = null
      ctx.currentVars = vars
      loads
    }
    def returnUnless(condition: Expression): String = {
      val loads = withLoads(Seq(condition))
      val c = condition.genCode(ctx)
      s"$loads\n${c.code}\nif (${c.isNull} || !${c.value}) return null;"
    }
    val evaluated = SplitCode.grouped(totals)(SplitCode.length).map { some =>
      val loads = withLoads(some)
      val vars = ctx.currentVars
      (loads +: some.map { e =>
        ctx.currentVars = vars
        e.genCode(ctx).code.toString
      }).mkString("\n")
    }
    val condition =
      (onKeys.map(returnUnless).toSeq :+ split.calls(s"totals_$q", "long[] t, int o", "t, o", evaluated)) ++
        having.map(returnUnless)
    val varying = bound.zipWithIndex.filter(_._1.exists(_.isInstanceOf[BoundReference]))
    val patches = SplitCode.grouped(varying)(v => SplitCode.length(v._1)).map { some =>
      val loads = withLoads(some.map(_._1))
      val vars = ctx.currentVars
      val code = some.map { case (e, i) =>
        ctx.currentVars = vars
        setter(e.dataType).map(patch(e.genCode(ctx), i, _))
      }
      Option.when(code.forall(_.isDefined))((loads +: code.flatten).mkString("\n"))
    }
    val wholeLoads = withLoads(bound)
    val row = GenerateUnsafeProjection.createCode(ctx, bound)
    val unsafeRow = classOf[UnsafeRow].getName
    val whole = s"${row.code}\n"
    if (patches.exists(_.isEmpty))
      s"""
         |private $unsafeRow emit_$q(long[] t, int o) {
         |  ${condition.mkString("\n")}
         |  $wholeLoads
         |  $whole
         |  return ${row.value};
         |}""".stripMargin
    else
      s"""
         |private $unsafeRow row_$q;
         |private $unsafeRow emit_$q(long[] t, int o) {
         |  final $unsafeRow row = row_$q;
         |  if (row == null) { return first_$q(t, o); }
         |  ${condition.mkString("\n")}
         |  ${split.calls(s"patch_$q", s"$unsafeRow row, long[] t, int o", "row, t, o", patches.flatten)}
         |  return row;
         |}
         |private $unsafeRow first_$q(long[] t, int o) {
         |  ${condition.mkString("\n")}
         |  $wholeLoads
         |  $whole
         |  row_$q = ${row.value}.copy();
         |  return row_$q;
         |}""".stripMargin
  }

  private def patch(v: ExprCode, ordinal: Int, set: String): String = {
    val write = s"row.$set($ordinal, ${v.value});"
    if (v.isNull == FalseLiteral) s"${v.code}\n$write"
    else s"${v.code}\nif (${v.isNull}) { row.setNullAt($ordinal); } else { $write }"
  }

  /** UnsafeRow's method for values of this type, if they are a word or less. */
  private def setter(t: DataType): Option[String] = t match {
    case BooleanType => Some("setBoolean")
    case ByteType => Some("setByte")
    case ShortType => Some("setShort")
    case IntegerType | DateType | _: YearMonthIntervalType => Some("setInt")
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType | _: TimeType => Some("setLong")
    case FloatType => Some("setFloat")
    case DoubleType => Some("setDouble")
    case _ => None
  }
}
