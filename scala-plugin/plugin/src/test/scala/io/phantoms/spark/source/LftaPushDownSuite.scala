package io.phantoms.spark.source

import scala.util.{Random, Try}

import io.phantoms.spark.Turns
import io.phantoms.spark.source.read.{AddressOneOf, Condition}

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.scalatest.funsuite.AnyFunSuite

/** What is taken over from Spark gives the rows that Spark gives: over the source, and over the rows of it elsewhere. */
class LftaPushDownSuite extends AnyFunSuite with LftaSession {
  private lazy val capture = folder.resolve("capture").toString

  override def beforeAll(): Unit = {
    super.beforeAll()
    (0 until 3).foreach { i =>
      TestCaptures.write(
        folder.resolve(s"capture/$i.pcap"),
        TestCaptures.pcap(TestCaptures.random(1500, i, damaged = true))
      )
    }
    TestCaptures.write(folder.resolve("export/a.nf5"), TestCaptures.v5(TestCaptures.flows(500, 3)).toArray.flatten)
    materialized(read(capture, "pushDownAggregate" -> "false"), "plain")
    materialized(read(capture, "addresses" -> "string"), "plain_string")
    materialized(read(capture, "addresses" -> "int"), "plain_int")
    materialized(read(folder.resolve("export").toString), "plain_flows")
  }

  private def view(options: (String, String)*): Unit = read(capture, options: _*).createOrReplaceTempView("packets")

  private def sql(text: String): DataFrame = spark.sql(text).asInstanceOf[DataFrame]

  /** The query over the source and over its rows. */
  private def same(query: String, plain: String = "plain", packets: String = "packets"): DataFrame = {
    val df = sql(query.replace("@", packets))
    withClue(s"$query:\n${df.queryExecution.optimizedPlan}\n")(
      sameRows(df.collect().toSeq, sql(query.replace("@", plain)).collect().toSeq)
    )
    df
  }

  private val aggregates = Seq(
    "SELECT count(*) FROM @",
    "SELECT count(*), count(srcport), count(_malformed), min(time), max(time), sum(length), min(tcp_seq), max(srcport) FROM @",
    "SELECT srcip, count(*), sum(length) FROM @ GROUP BY srcip",
    "SELECT srcip, dstip, srcport, dstport, prot, count(*), sum(length), min(time), max(time) FROM @ " +
      "GROUP BY srcip, dstip, srcport, dstport, prot",
    "SELECT srcport, sum(payload_length), avg(length), avg(ttl) FROM @ GROUP BY srcport",
    "SELECT DISTINCT dstport FROM @",
    "SELECT DISTINCT srcip, ip_version FROM @ WHERE prot = 6",
    "SELECT dstport + 1, count(*) + sum(length) FROM @ GROUP BY dstport HAVING count(*) > 3 ORDER BY 1 LIMIT 5",
    "SELECT count(*), sum(length) FROM @ WHERE srcport = 1",
    "SELECT srcip, count(*) FROM @ WHERE srcport = 1 GROUP BY srcip",
    "SELECT tos, ip_version, min(payload_length), max(payload_length) FROM @ WHERE length BETWEEN 60 AND 90 GROUP BY 1, 2",
    "SELECT time, count(*) FROM @ WHERE time < TIMESTAMP'2023-11-14 22:13:20.05' GROUP BY time",
    "SELECT min(time_nanos), max(_file_offset), count(payload), count(src_mac) FROM @"
  )

  test("aggregates, by readers' tables of every kind and size") {
    val settings = for {
      memory <- Seq("1", "600", "64k", "1m")
      kind <- Seq("direct", "secondChance")
      flush <- Seq("end", "eager", "lazy")
    } yield Seq("tables.memory" -> memory, "tables.kind" -> kind, "flush" -> flush)
    // Two queries have the most different groups and functions.
    val (rich, others) = aggregates.zipWithIndex.partition { case (_, i) => i == 1 || i == 3 }
    (rich ++ Turns.some(others, 5)).foreach { case (query, i) =>
      Turns.some(settings, if (i == 1 || i == 3) 2 else 1, i + Turns.slower(others.size)).foreach { s =>
        view(s: _*)
        withClue(s"$s: ")(assert(isAggregated(same(query)), query))
      }
    }
  }

  test("aggregates over addresses as text and as numbers, over flows, and over small parts of files") {
    Seq("string", "int").foreach { addresses =>
      view("addresses" -> addresses, "tables.memory" -> "2k")
      Turns.some(aggregates, 2).foreach(q => assert(isAggregated(same(q, s"plain_$addresses")), q))
    }
    view("maxPartitionBytes" -> "5000")
    withConf("spark.sql.files.openCostInBytes" -> "0") {
      Turns.some(aggregates, 2, 1).foreach(q => assert(isAggregated(same(q)), q))
    }
    read(folder.resolve("export").toString).createOrReplaceTempView("flows")
    Seq(
      "SELECT srcaddr, dstport, sum(packets), sum(octets), min(first), max(last), count(*) FROM @ GROUP BY 1, 2",
      "SELECT src_net, count(*) FROM @ WHERE in_subnet(dstaddr, '192.168.1.0/24') GROUP BY 1"
    ).foreach(q => assert(isAggregated(same(q, "plain_flows", "flows")), q))
    // The sum of an average is one of doubles, that of BIGINTs may overflow.
    assert(!isAggregated(same("SELECT dstport, avg(octets) FROM @ GROUP BY 1", "plain_flows", "flows")))
    assert(!isAggregated(same("SELECT avg(packets), sum(packets) FROM @", "plain_flows", "flows")))
  }

  test("aggregations that readers cannot do are left to Spark") {
    view()
    Seq(
      "SELECT count(DISTINCT srcip) FROM @",
      "SELECT src_mac, count(*) FROM @ GROUP BY src_mac",
      "SELECT _malformed, count(*) FROM @ GROUP BY _malformed",
      "SELECT srcport % 2, count(*) FROM @ GROUP BY 1",
      "SELECT dstport, sum(length * 2) FROM @ GROUP BY 1",
      "SELECT dstport, max(srcip) FROM @ GROUP BY 1",
      "SELECT dstport, count(*) FILTER (WHERE length > 70) FROM @ GROUP BY 1",
      "SELECT dstport, bit_or(srcport) FROM @ WHERE srcport < 1030 GROUP BY 1",
      "SELECT dstport, count(*) FROM @ WHERE length % 2 = 0 GROUP BY 1",
      "SELECT dstport, count(*) FROM @ GROUP BY ROLLUP (dstport)"
    ).foreach(q => assert(!isAggregated(same(q)), q))
    view("pushDownAggregate" -> "false")
    assert(!isAggregated(same(aggregates(3))))
  }

  test("counts of distinct constants: one where there are rows") {
    view()
    assert(sql("SELECT count(DISTINCT 1), count(DISTINCT 'x') FROM packets").collect().toSeq == Seq(Row(1L, 1L)))
    assert(sql("SELECT count(DISTINCT 1) FROM packets WHERE srcport = 1").collect().toSeq == Seq(Row(0L)))
    Seq(
      "SELECT count(DISTINCT 1), count(*), sum(length) FROM @",
      "SELECT dstport, count(DISTINCT 1) FROM @ GROUP BY dstport",
      "SELECT dstport, count(DISTINCT 1) + count(1) FROM @ WHERE prot = 6 GROUP BY dstport HAVING count(DISTINCT 2) > 0"
    ).foreach(q => assert(isAggregated(same(q)), q))
    same("SELECT count(DISTINCT 1), count(DISTINCT NULL), count(DISTINCT srcip) FROM @")
    same("SELECT dstport, count(DISTINCT 1) FILTER (WHERE length > 70) FROM @ GROUP BY dstport")
  }

  test("counts of distinct constants without the extension: Spark adds up what it takes for count(*)") {
    withConf("spark.sql.optimizer.excludedRules" -> CountOfConstants.ruleName) {
      view()
      // Once it is 1, Spark tells the two apart, and neither the rule nor what docs/lfta.md says of it is needed.
      assert(sql("SELECT count(DISTINCT 1) FROM packets").head().getLong(0) > 1)
      // Two counts of all cannot both be count(*).
      assert(!isAggregated(same("SELECT count(DISTINCT 1), count(*) FROM @")))
      view("pushDownAggregate" -> "false")
      same("SELECT count(DISTINCT 1) FROM @")
    }
  }

  /** Rows, or what kind of error. */
  private def outcome(query: String): Either[String, Set[Seq[Any]]] =
    Try(sql(query).collect().toSeq.map(_.toSeq).toSet).toEither.left.map { e =>
      Iterator.iterate(e)(_.getCause).takeWhile(_ != null).collect { case t: SparkThrowable => t.getCondition }
        .filter(_ != null).toSeq.lastOption.getOrElse(e.toString)
    }

  test("sums beyond BIGINT: as Spark has them, with ANSI rules and without") {
    view("tables.memory" -> "1k")
    val all = for {
      keys <- Seq("", "GROUP BY dstport", "GROUP BY srcip")
      sum <- Seq("sum", "try_sum")
      ansi <- Seq("true", "false")
    } yield (ansi, sum, keys)
    for ((ansi, sum, keys) <- Turns.some(all, 5))
      withConf("spark.sql.ansi.enabled" -> ansi) {
        val query = s"SELECT $sum(time_nanos), count(*) FROM @ $keys"
        val (found, expected) = (outcome(query.replace("@", "packets")), outcome(query.replace("@", "plain")))
        assert(found == expected, s"$query, ANSI $ansi")
        if (ansi == "true" && sum == "sum") assert(found.left.exists(_.startsWith("ARITHMETIC_OVERFLOW")), found)
        else assert(found.isRight)
        assert(isAggregated(sql(query.replace("@", "packets"))))
      }
  }

  test("no file at all: a row of a count, none of groups") {
    java.nio.file.Files.createDirectories(folder.resolve("empty"))
    val empty = read(folder.resolve("empty").toString, "records" -> "packets")
    empty.createOrReplaceTempView("nothing")
    assert(sql("SELECT count(*), sum(length) FROM nothing").collect().toSeq.map(_.toSeq) == Seq(Seq(0L, null)))
    assert(sql("SELECT srcip, count(*) FROM nothing GROUP BY srcip").collect().isEmpty)
    assert(empty.collect().isEmpty)
  }

  private def predicates(addresses: String): IndexedSeq[String] = {
    val ofAddresses = addresses match {
      case "binary" => Seq("srcip = X'0A000101'", "dstip IN (X'0A000101', X'0A000202', X'00')", "srcip <=> X'0A000000'")
      case "string" =>
        Seq(
          "srcip = '10.0.1.1'",
          "dstip IN ('10.0.1.1', '2001:db8::2', 'x')",
          "srcip = '010.0.1.1'",
          "srcip <=> '2001:db8::1'"
        )
      case "int" => Seq("srcip = 167772417", "dstip IN (167772417, 5)", "srcip < 167772420", "srcip <=> 167772160")
    }
    (ofAddresses ++ Seq(
      "srcport = 1030",
      "1030 > srcport",
      "srcport >= 1040",
      "dstport <> 80",
      "dstport IN (53, 443)",
      "dstport IN (53, NULL)",
      "srcport NOT IN (1024, 1025, 1026, 1027, 1028, 1029, 1030, 1031, 1032, 1033, 1034, 1035)",
      "length > 70",
      "length <= 66",
      "CAST(length AS BIGINT) = 66L",
      "srcport IS NULL",
      "tcp_seq IS NOT NULL",
      "tcp_flags <=> 24",
      "srcport <=> NULL",
      "_malformed IS NULL",
      "time < TIMESTAMP'2023-11-14 22:13:20.1'",
      "time_nanos >= 1700000000050000000",
      "in_subnet(srcip, '10.0.1.0/24')",
      "in_subnet(dstip, '2001:db8::/64')",
      "in_subnet(dstip, NULL)",
      "ip_version = 6",
      "tos = 4"
    )).toIndexedSeq
  }

  private def combined(some: IndexedSeq[String], random: Random, depth: Int): String =
    if (depth == 0) some(random.nextInt(some.size))
    else
      random.nextInt(4) match {
        case 0 => s"NOT (${combined(some, random, depth - 1)})"
        case 1 => s"(${combined(some, random, depth - 1)} OR ${combined(some, random, depth - 1)})"
        case _ => s"(${combined(some, random, depth - 1)} AND ${combined(some, random, depth - 1)})"
      }

  test("conditions: each alone, and seeded combinations of them, with SQL's three values") {
    val random = new Random(21)
    Seq("binary", "string", "int").foreach { addresses =>
      view("addresses" -> addresses)
      val plain = if (addresses == "binary") "plain" else s"plain_$addresses"
      val all = predicates(addresses)
      val mixed = all ++ Seq.fill(25)(combined(all, random, 1 + random.nextInt(3)))
      Turns.some(mixed, 6).foreach { p =>
        val df = same(s"SELECT time_nanos, srcip, length FROM @ WHERE $p", plain)
        val filters = df.queryExecution.optimizedPlan.collect { case f: Filter => f }
        assert(filters.isEmpty, s"$p was left to Spark: $filters")
        same(s"SELECT count(*) FROM @ WHERE $p", plain)
      }
    }
  }

  test("lists of addresses are looked up, and lists of conditions have their places") {
    view()
    val many = (0 until 600).map(i => f"X'0A00${i / 256}%02X${i % 256}%02X'").mkString(", ")
    val df = same(s"SELECT time_nanos, srcip FROM @ WHERE dstip IN ($many) AND (prot = 6 OR length > 70)")
    val conditions = scans(df).head.conditions.map(_._2)
    assert(conditions.exists(_.isInstanceOf[AddressOneOf]), conditions)
    val lists = conditions.collect { case a: Condition.Any => a.of }
    assert(lists.size == 1 && lists.forall(_.isInstanceOf[java.util.RandomAccess]))
    assert(lists.forall(_.isInstanceOf[java.util.ArrayList[_]]), lists)
    same(s"SELECT count(*) FROM @ WHERE NOT (dstip IN ($many, NULL))")
  }

  test("conditions that readers do not know are Spark's, beside those they do") {
    view()
    Seq(
      "length % 3 = 0 AND srcport > 1030",
      "srcip > X'0A0001' AND dstport = 80",
      "srcport = dstport OR srcport < 1030",
      "hex(src_mac) LIKE '06%' AND length > 70",
      "ip_to_string(srcip) LIKE '10.0.%' AND prot = 17",
      "rand(5) > 1e-15 AND prot = 17"
    ).foreach { p =>
      val df = same(s"SELECT time_nanos, srcip FROM @ WHERE $p")
      assert(df.queryExecution.optimizedPlan.exists(_.isInstanceOf[Filter]), p)
    }
    val df = sql("SELECT 1 FROM packets WHERE length % 3 = 0 AND srcport > 1030")
    assert(scans(df).head.conditions.nonEmpty)
  }

  test("columns: only those that are read, by rows and by batches") {
    view()
    Seq(
      "srcip",
      "length, time",
      "_malformed, srcip",
      "payload, src_mac, dstport",
      "time_nanos, vlan, _file_offset",
      "*"
    )
      .foreach { columns =>
        Seq("true", "false").foreach { batches =>
          view("columnar" -> batches)
          val df = same(s"SELECT $columns FROM @")
          assert(df.queryExecution.executedPlan.exists(_.supportsColumnar) == batches.toBoolean)
          if (columns != "*") assert(scans(df).head.readDataSchema.size == columns.count(_ == ',') + 1)
        }
      }
    // A map is read by rows.
    read(folder.resolve("export").toString).createOrReplaceTempView("flows")
    same("SELECT srcaddr, map_entries(other), octets FROM @", "plain_flows", "flows")
    same("SELECT count(*) FROM (SELECT 1 FROM @)")
  }

  test("limits") {
    Seq("true", "false").foreach { batches =>
      view("columnar" -> batches)
      val df = sql("SELECT srcip, length FROM packets LIMIT 7")
      assert(df.collect().length == 7 && scans(df).head.limit.contains(7))
      assert(metrics(df)("packets") <= 3 * 7 + 10)
      val filtered = sql("SELECT srcip FROM packets WHERE prot = 17 LIMIT 5")
      assert(filtered.collect().length == 5 && scans(filtered).head.limit.contains(5))
      // Some rows are dropped above the scan: it cannot know how many.
      val above = sql("SELECT srcip FROM packets WHERE length % 2 = 0 LIMIT 5")
      assert(above.collect().length == 5 && scans(above).head.limit.isEmpty)
      assert(sql("SELECT * FROM packets LIMIT 0").collect().isEmpty)
      assert(sql("SELECT srcip, count(*) FROM packets GROUP BY srcip LIMIT 2").collect().length == 2)
    }
  }

  test("a file's parts have every packet once, however small they are") {
    withConf("spark.sql.files.openCostInBytes" -> "0") {
      Seq("999", "4k", "20k").foreach { bytes =>
        view("maxPartitionBytes" -> bytes)
        val df = same("SELECT * FROM @")
        assert(df.rdd.getNumPartitions > 3)
        assert(metrics(df)("packets") == 4500)
      }
    }
  }

  test("statistics by the size of files, and explanations") {
    view()
    val df = sql("SELECT srcip, count(*) FROM packets WHERE prot = 6 GROUP BY srcip")
    val plan = df.queryExecution.explainString(org.apache.spark.sql.execution.FormattedMode)
    Seq("PushedAggregation: [count(*)]", "PushedGroupBy: [srcip]", "PushedFilters: [", "Records: packets")
      .foreach(t => assert(plan.contains(t), plan))
    def statistics(query: String) =
      sql(query).queryExecution.optimizedPlan.collect { case r: DataSourceV2ScanRelation => r.stats }.head
    val some = statistics("SELECT srcip, length FROM packets")
    assert(some.rowCount.exists(n => n > 1000 && n < 20000), some)
    assert(some.sizeInBytes < statistics("SELECT * FROM packets").sizeInBytes)
    assert(statistics("SELECT srcip FROM packets WHERE length > 70").rowCount.isEmpty)
  }

  test("one exchange for equal scans") {
    view()
    val grouped = "SELECT dstport AS k, count(*) AS n FROM packets WHERE length > 60 GROUP BY dstport"
    val join = sql(s"SELECT * FROM ($grouped) a JOIN ($grouped) b ON a.k = b.k")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val df = sql(s"SELECT a.k, a.n, b.n FROM ($grouped) a JOIN ($grouped) b ON a.k = b.k")
      assert(df.collect().length == 4)
      import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
      assert(collect(df.queryExecution.executedPlan) { case r: ReusedExchangeExec => r }.nonEmpty, df.queryExecution)
    }
    val both = scans(join)
    val left = both.head
    assert(both.size == 2 && left == both(1) && left.hashCode == both(1).hashCode)
    val others =
      Seq("length > 61", "length > 60 AND prot = 6").map(p => scans(sql(grouped.replace("length > 60", p))).head)
    assert(!others.contains(left))
    assert(scans(sql(grouped.replace("count(*)", "sum(length)"))).head != left)
  }
}
