package io.phantoms.spark.verify

import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.integration.PluginSession

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.scalatest.funsuite.AnyFunSuite

/** Where the rows of a verified plan go: files, tables, the cache, other parts of a query, streams. */
class VerifiedPlacesSuite extends AnyFunSuite with VerifyingSession {
  import WrongSharing._

  private val union = PluginSession.union("flows")

  test("files, CREATE TABLE AS SELECT and INSERT get plain Spark's rows, once") {
    val expected = plain(spark.sql(union).collect().toSeq)
    Seq[String => Unit](
      name => spark.sql(union).write.parquet(s"$folder/$name"),
      name => {
        spark.sql(s"create table $name using parquet as $union")
        spark.table(name).write.parquet(s"$folder/$name")
      },
      name => {
        spark.sql(s"create table $name (k int, m int, n bigint, total bigint) using parquet")
        spark.sql(s"insert into $name $union")
        spark.table(name).write.parquet(s"$folder/$name")
      }
    ).zipWithIndex.foreach { case (write, i) =>
      verifying {
        WrongSharing.during(loses(7))(write(s"written$i"))
        assert(compared().map(v => (v.outcome, v.differingRows)) == Seq((Verification.Different, 1L)))
      }
      assertRows(spark.read.parquet(s"$folder/written$i").collect().toSeq, expected)
    }
  }

  test("what is cached, and what is read of it afterwards") {
    val expected = plain(spark.sql(union).collect().toSeq)
    verifying {
      val df = WrongSharing.during(loses(7)) {
        val df = spark.sql(union).cache()
        df.count()
        df
      }
      try {
        assert(compared().map(_.outcome) == Seq(Verification.Different))
        assertRows(df.collect().toSeq, expected)
        assert(compared().isEmpty)
      } finally { val _ = df.unpersist(blocking = true) }
    }
  }

  test("a sort by ranges reads its input twice, and compares it once") {
    verifying {
      val rows = spark.sql(s"select * from ($union) order by n, total, k, m").collect()
      assertEqual(compared(), rows.toSeq)
    }
  }

  test("in subqueries, beside others, within others") {
    Seq(
      s"select k, n from ($union) where n > (select avg(n) from ($union))",
      s"select x.k, x.n from ($union) x where x.k in (select k from (${PluginSession.sets("flows")}) where n > 5)",
      s"select x.k, (select count(distinct f.m) + count(distinct f.s) from flows f where f.k = x.k) c from (${PluginSession.sets("flows")}) x",
      s"select k, count(*) c, sum(n) s from ($union) group by k union all select m, count(*), max(n) from ($union) group by m"
    ).foreach { sql =>
      bothModes {
        val found = run(spark.sql(sql))
        assert(found.nonEmpty && found.forall(_.agrees), found.map(_.warning))
      }
    }
  }

  test("every row that plain Spark has, and no task of it runs for the comparison again") {
    var tasks = 0
    val counting = new SparkListener {
      override def onTaskEnd(e: SparkListenerTaskEnd): Unit = tasks += 1
    }
    spark.sparkContext.addSparkListener(counting)
    def of(body: => Any): Int = {
      tasks = 0
      val _ = body
      ListenerBus.drain(spark.sparkContext)
      tasks
    }
    try {
      val (alone, shared) = (plain(of(spark.sql(union).collect())), of(spark.sql(union).collect()))
      val both = verifying(of(spark.sql(union).collect()))
      // One task more: it adds up the fingerprints of the plugin's rows.
      assert(both <= alone + shared + 4, s"$both tasks, $alone and $shared apart")
    } finally spark.sparkContext.removeSparkListener(counting)
  }

  test("streams are not verified, nor are their batches") {
    val input = MemoryStream[Int](Encoders.scalaInt, spark)
    input.addData(1 to 50: _*)
    var verifiedBatches = 0
    var sharedBatches = 0
    verifying {
      val said = warnings {
        val query = input.toDF().writeStream.foreachBatch { (batch: org.apache.spark.sql.DataFrame, _: Long) =>
          batch.createOrReplaceTempView("batch")
          val df = batch.sparkSession.sql(
            "select value % 2 a, value % 3 b, count(*) from batch group by grouping sets ((value % 2, value % 3), (value % 2))"
          ).asInstanceOf[DataFrame]
          df.collect()
          if (isShared(df)) sharedBatches += 1
          if (isVerified(df)) verifiedBatches += 1
          ()
        }.start()
        try query.processAllAvailable()
        finally query.stop()
      }
      assert(said.exists(_.contains("spark.phantoms.verify is ignored for streams")), said)
      assert(sharedBatches == 1 && verifiedBatches == 0 && compared().isEmpty)
    }
  }

  test("an ordinary Dataset, and one of rows made by functions") {
    val session = spark
    import session.implicits._
    verifying {
      val made =
        spark.table("flows").select("k", "v").as[(Int, Long)].map { case (k, v) => (k % 4, v % 10) }.toDF("a", "b")
      val df = made.rollup("a", "b").count().asInstanceOf[DataFrame]
      assert(isVerified(df))
      assertEqual({ df.collect(); compared() }, df.collect().toSeq)
    }
  }

  test("the switch is read when a plan is made") {
    val df = spark.sql(union)
    val planned = verifying(spark.sql(union))
    verifying(assert(isVerified(planned)))
    withConf(PhantomsConf.Verify.key -> "off")(assert(!isVerified(df)))
  }
}
