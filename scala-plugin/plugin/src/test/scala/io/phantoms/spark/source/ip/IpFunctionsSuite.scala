package io.phantoms.spark.source.ip

import io.phantoms.spark.{PhantomsExtensions, TestSessions}

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{AnalysisException, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The expressions, interpreted and from generated code, over columns that may be NULL and over those that may not. */
class IpExpressionsSuite extends AnyFunSuite {
  private val v4 = Array[Byte](10, 1, 2, 3)
  private val v6 = Array[Byte](0x20, 1, 0x0d, 0xb8.toByte) ++ new Array[Byte](11) ++ Array[Byte](1)
  private val short = Array[Byte](1, 2, 3)

  private def internal(value: Any): Any = value match {
    case s: String => UTF8String.fromString(s)
    case other => other
  }

  private def shown(value: Any): Any = value match {
    case b: Array[Byte] => b.toSeq
    case other => other
  }

  /** Every way to evaluate it. */
  private def ways(build: Expression => Expression, dataType: DataType, value: Any): Seq[() => Any] = {
    val row = InternalRow(internal(value))
    Seq(true, false).filter(_ || value != null).flatMap { nullable =>
      val e = build(BoundReference(0, dataType, nullable))
      assert(e.checkInputDataTypes().isSuccess && (nullable || value != null))
      val generated = GenerateUnsafeProjection.generate(Seq(e))
      Seq(
        () => shown(e.eval(row)),
        () => {
          val found = generated(row)
          if (found.isNullAt(0)) null else shown(found.get(0, e.dataType))
        }
      )
    }
  }

  private def check(build: Expression => Expression, value: Any, expected: Any): Unit = {
    val dataType = value match {
      case _: String => StringType
      case _: Int => IntegerType
      case _ => BinaryType
    }
    ways(build, dataType, value).foreach(way => assert(way() == shown(internal(expected))))
  }

  private def nulls(build: Expression => Expression, types: DataType*): Unit =
    types.foreach(t => ways(build, t, null).foreach(way => assert(way() == null)))

  private def fails(build: Expression => Expression, value: Any, named: String): Unit =
    ways(build, if (value.isInstanceOf[String]) StringType else BinaryType, value).foreach { way =>
      val e = intercept[IllegalArgumentException](way())
      assert(e.asInstanceOf[SparkThrowable].getCondition == "CAST_INVALID_INPUT" && e.getMessage.contains(named))
    }

  test("ip_to_string") {
    for (ansi <- Seq(true, false)) {
      val f = IpToString(_, ansi)
      check(f, v4, "10.1.2.3")
      check(f, v6, "2001:db8::1")
      check(f, -1, "255.255.255.255")
      check(f, 0x0a010203, "10.1.2.3")
      check(f, "2001:DB8:0::1", "2001:db8::1")
      nulls(f, BinaryType, IntegerType, StringType)
    }
    check(IpToString(_, ansi = false), short, null)
    check(IpToString(_, ansi = false), "x", null)
    fails(IpToString(_, ansi = true), short, "X'010203'")
    fails(IpToString(_, ansi = true), "x", "'x'")
  }

  test("ip_from_string") {
    for (ansi <- Seq(true, false)) {
      check(IpFromString(_, ansi), "10.1.2.3", v4)
      check(IpFromString(_, ansi), "2001:db8::1", v6)
      nulls(IpFromString(_, ansi), StringType)
    }
    check(IpFromString(_, ansi = false), "10.1.2.256", null)
    fails(IpFromString(_, ansi = true), "10.1.2.256", "'10.1.2.256'")
  }

  test("in_subnet") {
    for (ansi <- Seq(true, false)) {
      def in(subnet: String) = InSubnet(_, Literal(subnet), ansi)
      check(in("10.0.0.0/8"), v4, true)
      check(in("10.2.0.0/16"), v4, false)
      check(in("2001:db8::/32"), v6, true)
      check(in("10.0.0.0/8"), v6, false)
      check(in("10.1.2.3"), 0x0a010203, true)
      check(in("128.0.0.0/1"), -1, true)
      check(in("10.1.2.0/24"), "10.1.2.3", true)
      check(in("10.1.2.0/24"), "::1", false)
      nulls(in("::/0"), BinaryType, IntegerType, StringType)
      check(InSubnet(_, Literal(null, StringType), ansi), v4, null)
    }
    check(InSubnet(_, Literal("::/0"), ansi = false), "x", null)
    check(InSubnet(_, Literal("::/0"), ansi = false), short, null)
    fails(InSubnet(_, Literal("::/0"), ansi = true), "x", "'x'")
  }
}

/** The functions in SQL, as the extension registers them. */
class IpFunctionsSuite extends AnyFunSuite with BeforeAndAfterAll {
  private var spark: SparkSession = _

  override def beforeAll(): Unit = spark = TestSessions.start(Map.empty, extensions = new PhantomsExtensions)
  override def afterAll(): Unit = TestSessions.end(spark)

  test("the examples of their documentation") {
    IpFunctions.all.foreach { case (name, info, _) =>
      val lines = info.getExamples.linesIterator.map(_.trim).filter(l => l.nonEmpty && l != "Examples:").toSeq
      val examples = lines.grouped(2).toSeq
      assert(examples.nonEmpty)
      examples.foreach { example =>
        val (sql, expected) = (example.head, example.last)
        val query = sql.stripPrefix("> ").stripSuffix(";").replace("_FUNC_", name.funcName)
        assert(spark.sql(query).head().get(0).toString == expected, query)
      }
      val described = spark.sql(s"DESCRIBE FUNCTION EXTENDED ${name.funcName}").collect().map(_.getString(0)).mkString
      assert(described.contains(s"Usage: ${name.funcName}(") && described.contains("Arguments:"), described)
    }
  }

  test("over columns, with whole-stage code and without") {
    val session = spark
    import session.implicits._
    val texts = Seq("10.0.0.1", "2001:db8::1", "192.168.1.7", null)
    texts.toDF("ip").createOrReplaceTempView("addresses")
    for (codegen <- Seq("true", "false")) {
      spark.conf.set("spark.sql.codegen.wholeStage", codegen)
      spark.conf.set("spark.sql.codegen.factoryMode", if (codegen == "true") "CODEGEN_ONLY" else "NO_CODEGEN")
      val rows = spark.sql(
        """SELECT ip, ip_to_string(ip_from_string(ip)), in_subnet(ip, '10.0.0.0/8'),
          |  in_subnet(ip_from_string(ip), '2001:db8::/32') FROM addresses""".stripMargin
      ).collect().toSeq
      assert(
        rows == Seq(
          Row("10.0.0.1", "10.0.0.1", true, false),
          Row("2001:db8::1", "2001:db8::1", false, true),
          Row("192.168.1.7", "192.168.1.7", false, false),
          Row(null, null, null, null)
        )
      )
    }
    spark.conf.unset("spark.sql.codegen.wholeStage")
    spark.conf.unset("spark.sql.codegen.factoryMode")
  }

  test("ANSI: an error, else NULL") {
    def ask() = spark.sql("SELECT ip_from_string('10.0.0.256')").head()
    spark.conf.set("spark.sql.ansi.enabled", "true")
    val e = intercept[IllegalArgumentException](ask())
    assert(e.asInstanceOf[SparkThrowable].getCondition == "CAST_INVALID_INPUT" && e.getMessage.contains("10.0.0.256"))
    spark.conf.set("spark.sql.ansi.enabled", "false")
    assert(ask().isNullAt(0))
    spark.conf.unset("spark.sql.ansi.enabled")
  }

  test("NULL without a type") {
    assert(spark.sql("SELECT ip_to_string(NULL), ip_from_string(NULL), in_subnet(NULL, '::/0'), in_subnet('::', NULL)")
      .head().toSeq.forall(_ == null))
  }

  test("wrong arguments are refused when the query is analysed") {
    def refused(sql: String, words: String*): Unit = {
      val e = intercept[AnalysisException](spark.sql(sql))
      words.foreach(w => assert(e.getMessage.contains(w), e.getMessage))
    }
    refused("SELECT in_subnet('10.0.0.1', '10.0.0.0/40')", "'10.0.0.0/40'", "0 to 32")
    refused("SELECT in_subnet('10.0.0.1', 'net')", "'net'")
    refused("SELECT in_subnet(ip, ip) FROM VALUES ('10.0.0.1') AS t(ip)", "constant")
    refused("SELECT in_subnet(1.5, '10.0.0.0/8')", "BINARY")
    refused("SELECT ip_to_string(DATE'2026-01-01')", "BINARY")
    refused("SELECT ip_from_string(1)", "STRING")
    refused("SELECT ip_from_string('a', 'b')", "WRONG_NUM_ARGS")
    refused("SELECT in_subnet('a')", "WRONG_NUM_ARGS")
  }
}
