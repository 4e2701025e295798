package io.phantoms.spark.execute

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.codegen._

import io.phantoms.spark.lfta.{BlockBuilder, GroupTable, Hashing}

/** Source of a reduce-side kernel: merging received records, deriving coarser relations, writing result rows. */
final class HftaCode(spec: SharedSpec) {
  private val ctx = new CodegenContext
  private val aggregates = new AggregateCode(ctx, spec)
  private val records = spec.layouts.map(new RecordCode(spec, _))
  private val table = classOf[GroupTable].getName
  private val builder = classOf[BlockBuilder].getName
  private val hashing = classOf[Hashing].getName
  private val complete =
    spec.relations.indices.filter(r => spec.relations(r).derived || spec.relations(r).ship.isDefined)

  def generate(): (CodeAndComment, Array[Any]) = {
    val derived = complete.filter(spec.relations(_).derived)
    val methods = complete.map(merge) ++ derived.map(derive) ++ complete.map(append) ++ complete.map(initialize) ++
      spec.queries.indices.map(emit)
    // Derived relations too: what did not fit into memory is read back as blocks.
    val remaps = complete.filter(records(_).dictionaryFields.nonEmpty)
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
         |    switch (relation) { ${cases(complete, r => loop(r, s"merge_$r(g, s, a);"))} }
         |  }
         |  protected void remap(int relation, long[] t, int o, int[] ids) {
         |    switch (relation) { ${cases(remaps, r => records(r).rewriteIds("t", "o", id => s"(long) ids[$id]"))} }
         |  }
         |  protected void deriveAll(int child, $table g, long[] s, int count) {
         |    switch (child) { ${cases(derived, r => loop(spec.relations(r).parent, s"derive_$r(g, s, a);"))} }
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
         |    switch (relation) { ${cases(complete, contentHash, breaks = false)} }
         |  }
         |  public ${classOf[UnsafeRow].getName} emit(int query, long[] t, int o) {
         |    switch (query) { ${spec.queries.indices.map(q => s"case $q: return emit_$q(t, o);").mkString("\n")} }
         |    throw new IllegalStateException();
         |  }
         |  ${methods.mkString("\n")}
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

  private def loop(layout: Int, call: String): String =
    s"""int k = 0;
       |try {
       |  for (int a = 0; k < count; k++, a += ${spec.layouts(layout).stride}) { $call }
       |} finally { merged = k; }""".stripMargin

  private def contentHash(r: Int): String =
    s"return $hashing.finish(${records(r).shardHash(spec.relations(r).keys, "t", "o")});"

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
    val stride = spec.layouts(r).stride
    s"""
       |private void merge_$r($table g, long[] s, int a) {
       |  ${code.packKeysFrom(code, "s", "a")}
       |  ${code.hash}
       |  final long[] index = g.index;
       |  final int mask = index.length - 1;
       |  int p = (int) h >>> g.shift;
       |  while (true) {
       |    final long e = index[p];
       |    if (e == 0L) { g.insert(h, p, s, a); return; }
       |    if ((int) (e >>> 32) == (int) h) {
       |      final long[] t = g.records;
       |      final int o = ((int) e - 1) * $stride;
       |      if (${code.matches("t", "o")}) { hit_$r(t, o, s, a); return; }
       |    }
       |    p = (p + 1) & mask;
       |  }
       |}
       |private void hit_$r(long[] t, int o, long[] s, int a) {
       |  ${aggregates.merge(code, "t", "o", code, "s", "a")}
       |}""".stripMargin
  }

  private def derive(r: Int): String = {
    val code = records(r)
    val parent = records(spec.relations(r).parent)
    s"""
       |private long[] y_$r = new long[${spec.layouts(r).stride}];
       |private void derive_$r($table g, long[] s, int a) { merge_$r(g, project_$r(s, a), 0); }
       |private long[] project_$r(long[] s, int a) {
       |  final long[] y = y_$r;
       |  ${code.packKeysFrom(parent, "s", "a")}
       |  ${code.storeKeys("y", "0")}
       |  ${code.copyBuffers("y", "0", parent, "s", "a")}
       |  return y;
       |}""".stripMargin
  }

  private def initialize(r: Int): String =
    s"""
       |private void initialize_$r(long[] t) {
       |  t[0] = Long.MIN_VALUE;
       |  ${aggregates.initialize(records(r), "t", "0")}
       |}""".stripMargin

  private def emit(q: Int): String = {
    val QuerySpec(r, results, having, _) = spec.queries(q)
    val (loads, vars) = aggregates.loadAll(records(r), "t", "o")
    ctx.INPUT_ROW = null
    ctx.currentVars = vars
    val condition = having.map { h =>
      val c = aggregates.overSlots(h).genCode(ctx)
      s"${c.code}\nif (${c.isNull} || !${c.value}) return null;"
    }.getOrElse("")
    ctx.currentVars = vars
    val row = GenerateUnsafeProjection.createCode(ctx, results.map(aggregates.overSlots))
    s"""
       |private ${classOf[UnsafeRow].getName} emit_$q(long[] t, int o) {
       |  $loads
       |  $condition
       |  ${row.code}
       |  return ${row.value};
       |}""".stripMargin
  }
}
