package io.phantoms.spark.oracle
import io.phantoms.spark.execute._
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.scalatest.funsuite.AnyFunSuite
class TierTimes extends AnyFunSuite with AdaptiveSparkPlanHelper {
  test("times") {
    SparkSession.getActiveSession.foreach(_.stop())
    val spark = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false")
      .config("spark.sql.extensions", "io.phantoms.spark.PhantomsExtensions").config("spark.phantoms.minSavings", "-1")
      .config("spark.sql.shuffle.partitions", "4").config("spark.sql.files.maxPartitionBytes", "1g").getOrCreate()
    for (n <- Seq(100000, 1000000)) {
      val folder = s"/tmp/tierwork/data$n"
      if (!new java.io.File(folder + "/_SUCCESS").exists)
        spark.range(0, 20000000, 1, 2).selectExpr(s"pmod(hash(id, 7), $n) r", "id v")
          .selectExpr("int(pmod(hash(r, 1), 1000)) a", "int(pmod(hash(r, 2), 1000)) b", "int(pmod(hash(r, 3), 1000)) c", "v")
          .write.mode("overwrite").parquet(folder)
      spark.read.parquet(folder).createOrReplaceTempView("t")
      for (sql <- Seq("select a, b, c, count(*) n, sum(v) s from t group by grouping sets ((a, b), (a, c), (b, c))", "select a, b, c, count(*) n, sum(v) s from t group by cube(a, b, c)")) {
      def run(conf: (String, String)*): (Double, String) = {
        conf.foreach { case (k, v) => spark.conf.set(k, v) }
        val df = spark.sql(sql)
        val t = System.nanoTime
        df.write.format("noop").mode("overwrite").save()
        val time = (System.nanoTime - t) / 1e9
        conf.foreach { case (k, _) => spark.conf.unset(k) }
        (time, "")
      }
      val forms = Seq("plain" -> Seq("spark.phantoms.enabled" -> "false"), "one" -> Seq("spark.phantoms.secondTier.enabled" -> "false"), "two" -> Seq.empty[(String, String)])
      println(s"CASE $n $sql")
      println(io.phantoms.spark.explain.Text.render(io.phantoms.spark.explain.Explanations.explain(spark.sql(sql))))
      spark.conf.set("spark.phantoms.secondTier.enabled", "false")
      println(io.phantoms.spark.explain.Text.render(io.phantoms.spark.explain.Explanations.explain(spark.sql(sql))))
      spark.conf.unset("spark.phantoms.secondTier.enabled")
      for (i <- 1 to 5; (name, conf) <- forms if name != "plain" || i < 3) println(f"TIME $n $name ${run(conf: _*)._1}%.2f load ${java.lang.management.ManagementFactory.getOperatingSystemMXBean.getSystemLoadAverage}%.1f")
      }
    }
    spark.stop()
  }
}
