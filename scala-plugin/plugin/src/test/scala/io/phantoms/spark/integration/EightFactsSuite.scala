package io.phantoms.spark.integration

import io.phantoms.spark.physical.SharedExchange

import org.apache.spark.sql.{Row, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.expressions.{Attribute, IsNotNull}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.classic.DataFrame
import org.scalatest.funsuite.AnyFunSuite

/**
 * Properties of the rewritten plan without which Spark's own later rules, or its scheduler, make rows wrong. Each is shown
 * twice: the plugin's plan keeps the rows, and the same plan with that one property taken away does not.
 * The one about tasks that run again is in [[LostExecutorSuite]].
 */
final class EightFactsSuite extends AnyFunSuite with PluginSession {
  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions

  private def adaptive[T](body: => T): T = withConf("spark.sql.adaptive.enabled" -> "true")(body)

  private val union = PluginSession.union("flows")
  private def limited: Int = spark.sql(s"select * from ($union) limit 20").collect().length

  private def keys(df: DataFrame): Seq[Option[Int]] =
    df.collect().toSeq.map(r => if (r.isNullAt(0)) None else Some(r.getInt(0)))

  private def isSorted(keys: Seq[Option[Int]]): Boolean = keys == keys.sorted

  test("fact 1 and 3: blocks counted by a finished shuffle are not taken for rows, so LIMIT stays") {
    adaptive {
      assert(limited == 20)
      assert(Variants.using(Variants.oneNode)(limited) > 20, "one logical node should lose the LIMIT")
    }
  }

  test("fact 1 and 3: ORDER BY over a shuffle of one block stays") {
    adaptive {
      spark.table("flows").limit(500).coalesce(1).write.parquet(s"$folder/one_partition")
      spark.read.parquet(s"$folder/one_partition").createOrReplaceTempView("one_partition")
      // One relation, for both branches, in one map task and one reduce partition: one block.
      val query = """select k, count(*) as n from one_partition group by k
                    |union all select k, sum(v) from one_partition group by k order by k""".stripMargin
      assert(isShared(spark.sql(query)))
      assert(isSorted(keys(spark.sql(query))))
      val broken = Variants.using(Variants.oneNode)(keys(spark.sql(query)))
      assert(broken.size == keys(spark.sql(query)).size)
      assert(!isSorted(broken), "one logical node should lose the Sort")
    }
  }

  test("fact 2: DISTINCT of an aggregate above stays when one block carries all rows") {
    bothModes {
      assertSame(
        """select count(distinct n), sum(distinct k) from (
          |select k, count(*) as n from flows where k < 9 group by k union all select null, count(*) from flows
          |where k < 9)""".stripMargin
      )
    }
  }

  test("fact 3: the upper node's own statistics and bounds, not those of blocks") {
    sharedIn(spark.sql(union).queryExecution.optimizedPlan).foreach { m =>
      assert(m.child.isInstanceOf[SharedExchange])
      assert(m.maxRows.isEmpty)
      assert(m.stats.rowCount.exists(_ >= 300))
      assert(m.stats.sizeInBytes >= 300 * 8)
    }
  }

  // A LIMIT keeps the filter from being pushed into the branches, and lets constraints of its child through.
  private def filtered = keys(
    spark.sql(s"select * from (select * from (${PluginSession.union("flows", "k > 0")}) limit 100000) where k > 0")
  )

  test("fact 4: a filter above on a key whose column is filtered below stays") {
    bothModes {
      assert(filtered.flatten.sorted == (1 to 40))
      assert(filtered.size == 40)
      val broken = Variants.using(Variants.oneNodeWithBaseIds)(filtered)
      assert(broken.contains(None), "inherited constraints over reused ids should remove the filter")
    }
  }

  private def incremented: Seq[Row] = {
    val session = spark
    import session.implicits._
    Seq((1, 10), (1, 20), (2, 30)).toDF("k", "v").createOrReplaceTempView("local")
    // The window keeps `k + 1` from being pushed into the branches.
    spark.sql(
      """select k + 1, n from (select k, n, row_number() over (order by n, k) as r from
        |(select k, count(*) as n from local group by k union all select null, count(*) from local)) where r > 0
        |""".stripMargin
    ).collect().toSeq
  }

  test("fact 5: the grand total's key stays NULL over a column that is never NULL") {
    bothModes {
      val expected = Seq(Row(2, 2L), Row(3, 1L), Row(null, 3L))
      assertRows(incremented, expected)
      val broken = Variants.using(Variants.oneNodeWithBaseIds)(incremented)
      assert(broken.toSet == Set(Row(2, 2L), Row(3, 1L), Row(1, 3L)), "reused ids should lose the NULL")
    }
  }

  test("facts 3 to 5: no attribute of the input comes out of our nodes, and none of its constraints") {
    val queries = Seq(PluginSession.union("flows", "k > 3"), PluginSession.sets("flows", "k > 3"))
    queries.foreach { q =>
      val found = sharedIn(spark.sql(q).queryExecution.optimizedPlan)
      assert(found.nonEmpty)
      found.foreach { m =>
        val exchange = m.child.asInstanceOf[SharedExchange]
        assert(exchange.child.constraints.nonEmpty)
        // All that is left is what the schema says: columns that are never NULL.
        Seq(m, exchange).foreach(_.constraints.foreach {
          case IsNotNull(a: Attribute) => assert(!a.nullable)
          case other => fail(s"$other")
        })
        val below = exchange.child.collect { case p => p.outputSet }.reduce(_ ++ _)
        assert((m.outputSet ++ exchange.outputSet).intersect(below).isEmpty)
      }
    }
  }

  test("fact 6: blocks are left whole when the query above reads no column") {
    def counted = spark.sql(s"select count(*) from ($union)")
    bothModes {
      assertSame(counted)
      assert(sharedIn(counted.queryExecution.optimizedPlan).forall(_.child.isInstanceOf[SharedExchange]))
    }
    // Not run: the task would read a block where there is none, and take the process down.
    val broken = Variants.using(Variants.withoutReferences)(counted.queryExecution.optimizedPlan)
    val pruned = broken.collect { case BlindMerge(_, _, Project(Nil, _)) => 1 }
    assert(pruned.nonEmpty, s"without references the blocks should be pruned away:\n$broken")
  }

  test("fact 8: an input without any partition still has its grand total") {
    spark.sql("select k, m, v from flows").write.partitionBy("k").parquet(s"$folder/by_k")
    spark.read.parquet(s"$folder/by_k").createOrReplaceTempView("by_k")
    def total = spark.sql(
      """select m, count(*) as n, sum(v) as total from by_k where k = -1 group by m
        |union all select null, count(*), sum(v) from by_k where k = -1""".stripMargin
    )
    bothModes {
      assertSame(total)
      assert(total.collect().toSeq == Seq(Row(null, 0L, null)))
      assert(Variants.using(Variants.withoutPartitions)(total.collect()).isEmpty, "the canary should lose the row")
      assertSame("select m, count(*) from by_k where k = -1 group by cube (m)")
      assertSame("select m, k, count(*) from by_k where k = -1 group by grouping sets ((m, k), (m))")
    }
  }
}
