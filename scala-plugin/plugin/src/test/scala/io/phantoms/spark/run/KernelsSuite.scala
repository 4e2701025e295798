package io.phantoms.spark.run

import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.oracle.{DifferentialSuite, OracleTables}

import org.apache.logging.log4j.Level
import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeAndComment, CodegenContext, CodeGenerator, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.types.DataType

/** Which kernel a job gets, and what happens where a class cannot be compiled. */
class KernelsSuite extends SparkFunSuite with DifferentialSuite {
  import CodegenObjectFactoryMode.{CODEGEN_ONLY, FALLBACK, NO_CODEGEN}

  // Whole-stage code of a test does not fall back, so that plain Spark is kept from compiling its own.
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ Map("spark.sql.codegen.wholeStage" -> "false", PhantomsConf.Strict.key -> "false")

  override protected def createTables(): Unit = {
    OracleTables.create(spark)
    val registry = spark.asInstanceOf[ClassicSession].sessionState.functionRegistry
    registry.createOrReplaceTempFunction("uncompilable", (e: Seq[Expression]) => Uncompilable(e.head), "scala_udf")
  }

  private def code(body: String): (CodeAndComment, Array[Any]) =
    (new CodeAndComment(s"public Object generate(Object[] references) { $body }", Map.empty), Array.empty[Any])

  private val good = "return \"generated\";"
  private val bad = "this is no Java"
  private val tooLong =
    "long x = references.length;" + (" x = x" + " * x + x" * 100 + ";") * 200 + " return String.valueOf(x);"

  private def decide(mode: Kernels.Mode, body: String): Kernels[String] =
    Kernels.decide[String]("the configuration AB(A B)", mode)(code(body))(() => "interpreted")

  private val loud = Seq(CodeGenerator, UnsafeProjection, MutableProjection, Predicate, RowOrdering, SafeProjection)
    .map(_.getClass.getName.stripSuffix("$"))

  /** The body's answer and what it warns about. */
  private def warnings[T](body: => T): (T, Seq[String]) = {
    val log = new LogAppender("kernels")
    var result: Option[T] = None
    // What Spark has to say of each failure is a page long.
    withLogAppender(new LogAppender("quiet"), loud, Some(Level.OFF)) {
      withLogAppender(log, Seq(classOf[Kernels[_]].getName)) { result = Some(body) }
    }
    val events = log.loggingEvents.filter(_.getLevel == Level.WARN).map(_.getMessage.getFormattedMessage)
    (result.get, events.filter(_.contains("spark-phantoms")).toSeq)
  }

  test("factoryMode decides") {
    Seq(CODEGEN_ONLY -> "generated", FALLBACK -> "generated", NO_CODEGEN -> "interpreted").foreach {
      case (mode, made) =>
        val (kernels, warned) = warnings(decide(mode, good))
        assert(kernels.make() == made)
        assert(kernels.isInterpreted == (mode == NO_CODEGEN))
        assert(warned.isEmpty)
    }
  }

  test("a class that cannot be compiled: no Java, or a method too long for the JVM") {
    Seq(bad, tooLong).foreach { body =>
      val (kernels, warned) = warnings(decide(FALLBACK, body))
      assert(kernels.isInterpreted && kernels.make() == "interpreted")
      assert(warned.size == 1 && warned.head.contains("AB(A B)"))
      assert(warned.head.contains(if (body == bad) "Line 1" else "64 KB"))
      warnings(intercept[Exception](decide(CODEGEN_ONLY, body)))
      // Not even tried.
      assert(warnings(decide(NO_CODEGEN, body))._2.isEmpty)
    }
  }

  test("an error while the source is made") {
    def failing: (CodeAndComment, Array[Any]) = throw new IllegalStateException("no code for this")
    val (kernels, warned) = warnings(Kernels.decide[String]("AB", FALLBACK)(failing)(() => "interpreted"))
    assert(kernels.make() == "interpreted")
    assert(warned.size == 1)
    intercept[IllegalStateException](Kernels.decide[String]("AB", CODEGEN_ONLY)(failing)(() => "interpreted"))
    // A task that is killed is not one that cannot compile.
    def killed: (CodeAndComment, Array[Any]) = throw new InterruptedException
    intercept[InterruptedException](Kernels.decide[String]("AB", FALLBACK)(killed)(() => "interpreted"))
  }

  test("an executor that alone fails to compile") {
    val there = new Kernels[String]("the configuration AB(A B)", Some(code(bad)), Some(() => "interpreted"))
    val (made, warned) = warnings(there.make())
    assert(made == "interpreted" && !there.isInterpreted)
    assert(warned.size == 1 && warned.head.contains("AB(A B)"))
    warnings(intercept[Exception](new Kernels[String]("AB", Some(code(bad)), None).make()))
  }

  test("tasks in the driver's process use the class that the driver compiled") {
    val thread = Thread.currentThread
    val own = thread.getContextClassLoader
    def under[T](loader: ClassLoader)(body: => T): T = {
      thread.setContextClassLoader(loader)
      try body
      finally thread.setContextClassLoader(own)
    }
    def child(parent: ClassLoader) = new java.net.URLClassLoader(Array.empty[java.net.URL], parent)
    val driver = child(own)
    val self = code("return getClass();")
    val kernels = under(driver)(Kernels.decide[AnyRef]("AB", FALLBACK)(self)(() => fail()))
    val compiled = under(driver)(kernels.make())
    assert(under(child(child(driver)))(kernels.make()) eq compiled)
    // Beside the driver's loader, another: its classes may be others of the same names.
    assert(under(child(own))(kernels.make()) ne compiled)
    assert(thread.getContextClassLoader eq own)
    // Tasks of a job have a loader of their own.
    val inJob = Kernels.decide[AnyRef]("AB", FALLBACK)(self)(() => null)
    val made = spark.sparkContext.parallelize(Seq(1), 1).map(_ => System.identityHashCode(inJob.make())).collect()
    assert(made.toSeq == Seq(System.identityHashCode(inJob.make())))
  }

  /** Shared, with plain Spark's rows; answers the sides that were said to be interpreted. */
  private def interpretedSides(sql: String): Set[String] = {
    val (_, warned) = warnings(checkSharedSql(sql))
    warned.flatMap(w => Seq("map side", "reduce side").filter(side => w.contains(s"the $side of "))).toSet
  }

  for ((input, adaptive) <- Seq("t_parquet" -> "true", "t_rows" -> "false"))
    test(s"a key, an input, a result or a condition over $input that cannot be compiled, adaptive $adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive) {
        def sides(sql: String): Set[String] = interpretedSides(sql.replace("from t", s"from $input"))
        assert(sides("select a, b, sum(c), max(s.v) from t group by cube(a, b)").isEmpty)
        // Computed below the aggregates: by Spark's own projection.
        assert(sides("select uncompilable(b) k, a, sum(c) from t group by cube(uncompilable(b), a)").isEmpty)
        assert(sides("select a, b, sum(uncompilable(c)) from t group by cube(a, b)") == Set("map side"))
        assert(sides("select a, b, uncompilable(sum(c)) from t group by cube(a, b)") == Set("reduce side"))
        assert(
          sides(
            """select a k, sum(c) v from t group by a having uncompilable(sum(c)) > 10
              |union all select z, count(*) from t group by z""".stripMargin
          ) == Set("reduce side")
        )
        assert(
          sides(
            """select uncompilable(b) k, a, uncompilable(sum(d)), sum(uncompilable(c)) from t where uncompilable(z) > 0
              |group by cube(uncompilable(b), a)""".stripMargin
          ) == Set("map side", "reduce side")
        )
      }
    }

  test("CODEGEN_ONLY and strict sessions say so") {
    Seq("spark.sql.codegen.factoryMode" -> "CODEGEN_ONLY", PhantomsConf.Strict.key -> "true").foreach { c =>
      withConf(c) {
        val (outcome, _) = warnings(shared(spark.sql("select a, b, uncompilable(sum(c)) from t group by cube(a, b)")))
        assert(outcome.isShared && outcome.result.isLeft)
      }
    }
    withConf("spark.sql.codegen.factoryMode" -> "NO_CODEGEN", PhantomsConf.Strict.key -> "true") {
      assert(shared(spark.sql("select a, b, uncompilable(sum(c)) from t group by cube(a, b)")).result.isRight)
    }
  }

  test("keys too many for the parameters of a method") {
    val keys = (0 until 140).map(i => s"c$i")
    val columns = (0 until 140).map(i => s"(id * ${i + 1}) % ${2 + i % 3} c$i")
    spark.range(0, 60, 1, 2).selectExpr(columns: _*).createOrReplaceTempView("many_keys")
    val group = keys.mkString(", ")
    val sql = s"""select $group, count(*) n from many_keys group by $group
                 |union all select $group, sum(c0) from many_keys group by $group""".stripMargin
    interpretedSides(sql)
  }
}

/** Passes its child's value on; the code that it generates is none. */
final case class Uncompilable(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = true
  override def eval(input: InternalRow): Any = child.eval(input)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    ev.copy(code = code"${value.code} this is no Java;", value.isNull, value.value)
  }
  override protected def withNewChildInternal(newChild: Expression): Uncompilable = copy(child = newChild)
}
