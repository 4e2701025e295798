package io.phantoms.spark.run

import java.nio.{ByteBuffer, ByteOrder}

import io.phantoms.spark.Turns
import io.phantoms.spark.block.{BlockBuilder, BlockFormat, ByteDictionary}
import io.phantoms.spark.memory.{MemoryRefused, MemoryReserve}
import io.phantoms.spark.oracle.{EverySecondTest, OracleTables, RandomConfigurationSuite, RandomSharing}
import io.phantoms.spark.physical.{LftaExec, SharedMergeExec, TierExec}
import io.phantoms.spark.run.generated.InputForm
import io.phantoms.spark.run.interpreted.{InterpretedHfta, InterpretedLfta}
import io.phantoms.spark.run.kernel.LftaKernel
import io.phantoms.spark.spec.{AggregateSpec, SharedSpec}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, CodegenObjectFactoryMode}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, StddevSamp, VariancePop}
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.types.{DoubleType, FloatType}

/**
 * The interpreted kernels do what the generated ones do, to the byte: blocks in the same order, tables, result rows and
 * counts. Under random configurations, whose tables are mostly small.
 */
class KernelEqualitySuite extends EverySecondTest with RandomConfigurationSuite {
  import CodegenObjectFactoryMode.{CODEGEN_ONLY, NO_CODEGEN}
  import KernelEqualitySuite._

  override protected def seeds: Seq[Long] =
    Turns.some(1L to sys.props.get("phantoms.configurations").fold(6L)(_.toLong), 3)
  override protected def createTables(): Unit = OracleTables.create(spark)

  private val strings =
    """select b, bin, s, r, s.v, count(*), min(b), max(s.v), max(concat(b, s.v)), min(upper(b))
      |from %s group by grouping sets ((b, bin), (s, r), (s.v, b), (r), (b, bin, s, r, s.v), ())""".stripMargin

  private val queries = Seq(
    "numbers" ->
      """select a, by, sh, n, count(*), count(z), sum(c), avg(c), min(by), max(sh), sum(a), avg(x), min(x), max(f), sum(f)
        |from %s group by cube(a, by, sh, n)""".stripMargin,
    "decimals" ->
      """select d, w, sum(d), avg(d), min(d), max(d), sum(w), avg(w), min(w), max(w), sum(cast(d as decimal(5, 1)))
        |from %s group by grouping sets ((d), (w), (d, w), ())""".stripMargin,
    "standard deviations" -> "select a, f, avg(x), avg(f), count(*) from %s group by cube(a, f)",
    "floats" -> "select x, f, -x, count(*), min(-f) from %s group by cube(x, f, -x)",
    "strings, binary and rows" -> strings,
    "times and intervals" ->
      """select flag, dt, ts, tn, ym, ds, min(dt), max(ts), max(tn), sum(ym), avg(ds), min(flag) from %s
        |group by grouping sets ((flag, dt), (ts, tn), (ym, ds), (flag, ds), ())""".stripMargin,
    "totals beyond their range" ->
      """select a, z, n, try_sum(if(c > 0, 9223372036854775807, c)), try_sum(-9223372036854775000 + z), try_sum(c * 10000000000000000),
        |try_sum(if(z > 0, interval '9000000000000' second, ds)), try_avg(if(z > 0, interval '9000000000000' second, ds)),
        |try_sum(if(z > 0, interval '2000000000' month, ym)), try_sum(if(z > 0, 1, -1) * 99999999999999999999999999999999999999),
        |try_avg(99999999999999999999999999999999999999) from %s group by grouping sets ((a, z), (n), (z, n), ())""".stripMargin,
    "approximate distinct counts" ->
      """select a, n, z, approx_count_distinct(c), count(*), approx_count_distinct(x, 0.2), max(b), approx_count_distinct(b)
        |filter (where z > 0), sum(w), approx_count_distinct(dt, 0.3) from %s group by cube(a, n, z)""".stripMargin,
    "states that are objects" ->
      """select a, b, n, z, percentile(c, 0.4), count(*), median(d) filter (where z > 0), size(collect_set(b)), max(b),
        |sort_array(collect_set(bin)), hex(count_min_sketch(c, 0.9D, 0.5D, 1)), approx_count_distinct(x), percentile_approx(w, 0.5)
        |from %s group by grouping sets ((a, b), (a, n), (b, z), (a, b, n, z), (a), ())""".stripMargin,
    "sliding windows" ->
      """select window(ts, '5 hours', '2 hours') w, b, d, count(*), max(b), sum(c), avg(x), sum(w) from %s
        |group by window(ts, '5 hours', '2 hours'), b, d having count(*) > 1""".stripMargin,
    "filters" ->
      """select mod(a, 3) k, upper(b) l, sum(c) filter (where z > 0), count(*) filter (where flag), max(b) filter (where x > 1)
        |from %s where c > -20 and (b is not null or a = 1) group by cube(mod(a, 3), upper(b))
        |having count(*) > 1 and (max(b) is null or sum(c) > 0)""".stripMargin,
    "more than 63 null bits" ->
      (0 until 40).map(i => s"sum(if(z = ${i % 4}, a, null)), max(if(a = ${i % 5}, w, null))")
        .mkString("select a, b, w, z, ", ", ", " from %s group by cube(a, b, w, z)")
  )

  private def operators(df: DataFrame): (LftaExec, SharedMergeExec) = {
    val plan = df.queryExecution.executedPlan
    (plan.collect { case l: LftaExec => l }, plan.collect { case m: SharedMergeExec => m }) match {
      case (Seq(l), Seq(m)) => (l, m)
      case other => fail(s"$other in\n$plan")
    }
  }

  /** Functions of more buffers than any that is detected: deviations in place of averages. */
  private def deviating(spec: SharedSpec): SharedSpec = spec.copy(aggregates = spec.aggregates.map {
    case AggregateSpec(a: Average, filter) if a.dataType == DoubleType =>
      val function =
        if (a.child.dataType == FloatType) VariancePop(Cast(a.child, DoubleType)) else StddevSamp(a.child)
      AggregateSpec(function, filter)
    case other => other
  })

  private def planned(sql: String, seed: Long): (LftaExec, SharedMergeExec) = {
    RandomSharing.seed = Some(seed)
    try
      withConf("spark.sql.adaptive.enabled" -> "false", "spark.phantoms.secondTier.enabled" -> "false") {
        operators(spark.sql(sql).asInstanceOf[DataFrame])
      }
    finally RandomSharing.seed = None
  }

  private def runLfta(
      exec: LftaExec,
      rows: Seq[InternalRow],
      mode: Kernels.Mode,
      dictionaryLimit: Long,
      seed: Long
  ): MapSide = {
    val spec = exec.spec
    val kernel = Kernels.lfta(
      spec,
      exec.rowSteps,
      exec.child.output.map(a => (a.dataType, a.nullable)).toIndexedSeq,
      InputForm.Rows,
      secondChance = seed % 2 == 0,
      mode
    ).make()
    assert(kernel.isInstanceOf[InterpretedLfta] == (mode == NO_CODEGEN))
    val slots = spec.relations.indices.flatMap(r => spec.relations(r).ship.toSeq.flatMap(_.partitions.map((r, _))))
    StateObjects.hold(spec, kernel, Unlimited)
    kernel.open(
      new ByteDictionary(Unlimited),
      dictionaryLimit,
      slots.map(_._1).toArray,
      slots.map(_._2).toArray,
      slots.map(s => spec.isAnnounced(s._1)).toArray,
      spec.layouts.map(_.stride).toArray,
      spec.relations.map(r => if (r.buckets <= 1) 0 else Integer.numberOfTrailingZeros(r.buckets)).toArray,
      BlockBytes,
      seed % 3 > 0,
      Window
    )
    val blocks = Vector.newBuilder[Block]
    def take(): Unit = while (!kernel.ready.isEmpty) {
      val b = kernel.ready.poll()
      blocks += Block(b.partition, b.data.slice(LftaKernel.ROW_PREFIX, LftaKernel.ROW_PREFIX + b.words).toVector)
      // As the operator does; what is written out must not show in later blocks.
      java.util.Arrays.fill(b.data, -1L)
      kernel.reuse(b)
    }
    // As operators drive it, which hand on what waits in between, or all at once: the blocks are the same.
    val pausing = (mode == NO_CODEGEN) == (seed % 2 == 0)
    if (pausing) kernel.pauseWhenCrowded()
    def empty(last: Boolean): Unit = {
      kernel.startEmptying(last)
      while (kernel.isEmptying) {
        kernel.resume()
        // One entry may fill the last of several blocks.
        assert(kernel.ready.size <= 16 + slots.size, "more than a few blocks wait")
        take()
      }
    }
    rows.foreach { r =>
      if (pausing && kernel.isFull) empty(last = false)
      kernel.process(r)
      take()
    }
    if (pausing) empty(last = true) else kernel.close()
    take()
    val counts = Seq(kernel.evictions, kernel.evictedAtEnd, kernel.misses, kernel.passed).map(_.toVector)
    MapSide(blocks.result(), counts, kernel.shipped, kernel.rows)
  }

  private def runHfta(spec: SharedSpec, blocks: Seq[Block], mode: Kernels.Mode, memory: MemoryReserve): ReduceSide = {
    val kernel = Kernels.hfta(spec, mode).make()
    assert(kernel.isInstanceOf[InterpretedHfta] == (mode == NO_CODEGEN))
    val strides = spec.layouts.map(_.stride)
    kernel.open(memory, strides.toArray, spec.relations.map(_ => 0L).toArray)
    StateObjects.hold(spec, kernel, Unlimited)
    var refusals = Vector.empty[Int]
    // As the task does: what no query of this merge is answered from it leaves alone.
    blocks.map(_.bytes).filter(data => spec.isReceived(BlockFormat.relation(data, 0))).foreach { data =>
      try kernel.mergeBuffer(BlockFormat.relation(data, 0), kernel.readBlock(data, 0))
      catch { case _: MemoryRefused => refusals :+= kernel.merged }
    }
    val complete = spec.relations.indices.filter(r => spec.relations(r).derived || spec.relations(r).ship.isDefined)
    // Which ids objects get is each kernel's own business; blocks show what they hold.
    val ids = spec.layouts.map(_.objectPlaces.map(_._2).toSet)
    def withoutIds(r: Int, words: Array[Long]): Vector[Long] = words.toVector.zipWithIndex.map { case (word, i) =>
      if (ids(r)(i % strides(r))) 0L else word
    }
    val tables = complete.map { r =>
      if (spec.relations(r).derived) kernel.derive(spec.relations(r).parent, r)
      val t = kernel.table(r)
      val starts = (0 until t.size).map(_ * strides(r))
      val block = new BlockBuilder(r, strides(r), 0, 1 << 20, true)
      starts.foreach(o => kernel.append(r, block, t.records, o))
      val finished = block.finish(kernel.dictionary)
      val initial = new Array[Long](strides(r))
      kernel.initialize(r, initial)
      val projected = spec.children(r).filter(spec.relations(_).derived)
        .map(c => starts.map(o => withoutIds(c, kernel.project(c, t.records, o).take(strides(c)))))
      (
        withoutIds(r, t.records.take(t.size * strides(r))),
        finished.take(block.finishedWords()).toVector,
        starts.map(o => kernel.contentHash(r, t.records, o)),
        withoutIds(r, initial),
        projected
      )
    }
    val rows = spec.queries.indices.flatMap { q =>
      val r = spec.queries(q).relation
      val t = kernel.table(r)
      (0 until t.size).map(i => Option(kernel.emit(q, t.records, i * strides(r))).map(_.getBytes.toVector))
    }
    ReduceSide(tables, rows, refusals)
  }

  for ((name, sql) <- queries) test(s"kernels over $name") {
    var collisions, entries, passed = 0L
    for (seed <- seeds) {
      val (lfta, merge) = planned(sql.format("t_rows"), seed) match {
        case (l, m) if name == "standard deviations" =>
          (l.copy(spec = deviating(l.spec)), m.copy(spec = deviating(m.spec)))
        case chosen => chosen
      }
      val rows = lfta.child.execute().map(_.copy()).collect().toSeq
      for (limit <- Seq(Long.MaxValue, 1L)) withClue(s"seed $seed, dictionary of $limit bytes: ") {
        val expected = runLfta(lfta, rows, CODEGEN_ONLY, limit, seed)
        val found = runLfta(lfta, rows, NO_CODEGEN, limit, seed)
        assert(found.counts == expected.counts)
        assert((found.rows, found.shipped) == ((expected.rows, expected.shipped)))
        assert(found.blocks.map(_.partition) == expected.blocks.map(_.partition))
        found.blocks.zip(expected.blocks).zipWithIndex.foreach { case ((f, e), i) => assert(f == e, s"block $i") }
        collisions += expected.counts.head.sum - expected.counts(1).sum
        entries += expected.shipped
        passed += expected.counts(3).sum

        val whole = runHfta(merge.spec, expected.blocks, CODEGEN_ONLY, Unlimited)
        val interpreted = runHfta(merge.spec, expected.blocks, NO_CODEGEN, Unlimited)
        assert(interpreted.tables == whole.tables)
        assert(interpreted.rows == whole.rows)
        assert(whole.rows.exists(_.isDefined))
      }
    }
    assert(collisions > 0 && entries > 0 && passed > 0)
  }

  test("merges that are refused memory stop at the same record") {
    val (lfta, merge) = planned(strings.format("t_rows"), 2)
    val rows = lfta.child.execute().map(_.copy()).collect().toSeq
    val blocks = runLfta(lfta, rows, CODEGEN_ONLY, Long.MaxValue, 2).blocks
    // Room for the dictionary and for tables that have not grown.
    def run(mode: Kernels.Mode) = runHfta(merge.spec, blocks, mode, new Limited(1 << 12))
    val expected = run(CODEGEN_ONLY)
    assert(expected.refusals.exists(_ > 0))
    assert(run(NO_CODEGEN) == expected)
  }

  test("tasks between the shuffles") {
    // Rows of one task, so that blocks arrive in one order.
    spark.table("t_rows").coalesce(1).createOrReplaceTempView("t_single")
    def run(mode: Kernels.Mode, sql: String, seed: Long) =
      withConf("spark.sql.adaptive.enabled" -> "false", "spark.sql.codegen.factoryMode" -> mode.toString) {
        RandomSharing.seed = Some(seed)
        try {
          val plan = spark.sql(sql).asInstanceOf[DataFrame].queryExecution.executedPlan
          plan.collectFirst { case t: TierExec => t }.map { tier =>
            val blocks =
              tier.execute().map(r => (r.getInt(0), r.getBinary(1).toVector)).glom().collect().map(_.toVector)
            (blocks.toVector, tier.metrics.view.mapValues(_.value).toMap)
          }
        } finally RandomSharing.seed = None
      }
    for ((name, sql) <- queries) {
      val (first, others) = (1L to 12L).splitAt(Math.floorMod(Turns.seed, 12))
      val pairs = (others ++ first).iterator.flatMap { seed =>
        val query = sql.format("t_single")
        run(CODEGEN_ONLY, query, seed).map { expected =>
          val found = run(NO_CODEGEN, query, seed).get
          withClue(s"$name, seed $seed: ") {
            differing(expected._1, found._1).foreach(fail(_))
            assert(found._2 == expected._2)
          }
          expected._2("shipped")
        }
      }
      // Not every seed has a second tier: one that has and ships is enough.
      val ships = if (Turns.full) pairs.count(_ > 0) > 0 else pairs.exists(_ > 0)
      assert(ships, s"no second tier for $name")
    }
  }

  private def differing(expected: Seq[Seq[Any]], found: Seq[Seq[Any]]): Option[String] = {
    val counts = Seq(expected, found).map(_.map(_.size))
    if (counts.distinct.size > 1) Some(s"blocks of tasks: ${counts.mkString(", ")}")
    else
      (for ((e, t) <- expected.zip(found).zipWithIndex; ((x, y), i) <- e._1.zip(e._2).zipWithIndex if x != y)
        yield s"block $i of task $t").headOption
  }

  for (input <- Seq("t_parquet", "t_rows", "t_cached")) test(s"tasks over $input") {
    def run(mode: Kernels.Mode, sql: String, seed: Long) =
      withConf("spark.sql.codegen.factoryMode" -> mode.toString) {
        val (lfta, _) = planned(sql, seed)
        if (input == "t_parquet") assert(lfta.child.supportsColumnar)
        val blocks = lfta.execute().map(r => (r.getInt(0), r.getBinary(1).toVector)).glom().collect().map(_.toVector)
        (blocks.toVector, lfta.metrics.view.mapValues(_.value).toMap)
      }
    // What is known of a cached table changes once it is filled, and partitions are laid out by it.
    spark.table(input).foreach(_ => ())
    for ((name, sql) <- queries; seed <- Turns.some(Seq(1L, 2L), 1, name.length)) withClue(s"$name, seed $seed: ") {
      val query = sql.format(input)
      val (blocks, metrics) = run(CODEGEN_ONLY, query, seed)
      val (found, counted) = run(NO_CODEGEN, query, seed)
      differing(blocks, found).foreach(fail(_))
      assert(counted == metrics)
      assert(metrics("rows") > 0 && metrics("externalEvictions") > 0)
    }
  }
}

object KernelEqualitySuite {

  /** Small, so that blocks fill up in the middle. */
  private val BlockBytes = 1 << 10

  /** Small, so that tables are passed by and tried again. */
  private val Window = 8

  private final case class Block(partition: Int, words: Vector[Long]) {
    def bytes: Array[Byte] = {
      val buffer = ByteBuffer.allocate(8 * words.size).order(ByteOrder.nativeOrder())
      words.foreach(buffer.putLong)
      buffer.array()
    }
  }

  private final case class MapSide(blocks: Vector[Block], counts: Seq[Vector[Long]], shipped: Long, rows: Long)
  private final case class ReduceSide(tables: Seq[Any], rows: Seq[Option[Vector[Byte]]], refusals: Vector[Int])

  private object Unlimited extends MemoryReserve {
    override def reserve(bytes: Long): Unit = ()
    override def release(bytes: Long): Unit = ()
  }

  /** Refuses any single reservation beyond the limit, but for the dictionary's chunks. */
  private final class Limited(most: Long) extends MemoryReserve {
    override def reserve(bytes: Long): Unit =
      if (bytes > most && bytes < (1 << 18)) throw new MemoryRefused(bytes, "no")
    override def release(bytes: Long): Unit = ()
  }
}
