package io.phantoms.spark.api

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedExecuteImmediate}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, RuntimeReplaceable, Unevaluable}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{NullType, StringType}

/** What [[SqlFunctions]] are given: a query as a text, of which a DataFrame is made that nothing runs. */
private[api] object SqlArgument {

  // Read by Spark's own check of arguments: `sql => '...'` may be written as well.
  private object Signature extends FunctionBuilderBase[LogicalPlan] {
    override def functionSignature: Option[FunctionSignature] = Some(FunctionSignature(Seq(InputParameter("sql"))))
    override def build(name: String, arguments: Seq[Expression]): LogicalPlan = throw new UnsupportedOperationException
  }

  /** The texts whose queries the calling thread is analysing, the innermost first. */
  private val asked = ThreadLocal.withInitial[List[String]](() => Nil)

  /**
   * What `ask` says of the query.
   *
   * @throws AnalysisException as functions of Spark's have it; with the parser's condition if the text is no SQL
   */
  def query[T](session: SparkSession, function: String, arguments: Seq[Expression])(ask: DataFrame => T): T = {
    val sql = constant(function, FunctionRegistry.rearrangeExpressions(function, Signature, arguments).head)
    // The views that a text names may name the function with this very text: Spark sees no circle there.
    if (asked.get.contains(sql)) refuse("RECURSIVE_VIEW", "viewIdent" -> id(function), "newPath" -> sql)
    val outer = asked.get
    asked.set(sql :: outer)
    try
      // A view is analysed with the confs it was made with; what is asked is what the session would do.
      SQLConf.withExistingConf(session.sessionState.conf) {
        requireQuery(session, sql)
        ask(session.sql(sql))
      }
    finally asked.set(outer)
  }

  def none(function: String, arguments: Seq[Expression]): Unit =
    if (arguments.nonEmpty)
      refuse(
        "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        "functionName" -> id(function),
        "expectedNum" -> "0",
        "actualNum" -> arguments.size.toString,
        "docroot" -> "https://spark.apache.org/docs/latest"
      )

  private def constant(function: String, argument: Expression): String = {
    // As the optimiser would have it: the argument is read before there is an optimiser.
    val value = argument.transformUp {
      case r: RuntimeReplaceable => r.replacement
      case a: Alias => a.child // of a session variable
    }
    // Some are constant only once the optimiser put the value in their place: the user, the time.
    if (!value.foldable || value.exists(_.isInstanceOf[Unevaluable]))
      refuse("NON_FOLDABLE_ARGUMENT", "funcName" -> id(function), "paramName" -> id("sql"), "paramType" -> "\"STRING\"")
    value.dataType match {
      case _: StringType | NullType =>
      case other =>
        refuse(
          "UNEXPECTED_INPUT_TYPE",
          "paramIndex" -> "first",
          "functionName" -> id(function),
          "requiredType" -> "\"STRING\"",
          "inputSql" -> ("\"" + argument.sql + "\""),
          "inputType" -> ("\"" + other.sql + "\"")
        )
    }
    Option(value.eval()).fold(refuse(
      "INVALID_PARAMETER_VALUE.NULL",
      "parameter" -> id("sql"),
      "functionName" -> id(function)
    ))(_.toString)
  }

  /**
   * Refuses whatever is no query. Spark runs commands as soon as a DataFrame is made of them, and what EXECUTE IMMEDIATE
   * and CALL name while they are analysed. So nothing is taken but what the grammar of queries takes, and of that nothing
   * which a parser of another extension made a command of.
   */
  private def requireQuery(session: SparkSession, sql: String): Unit = {
    val parser = session.sessionState.sqlParser
    // Of what is no SQL, this is the error.
    val parsed = parser.parsePlan(sql)
    val runs = parsed.exists {
      case _: Command | _: ParsedStatement | _: ExecutableDuringAnalysis | _: CompoundPlanStatement |
          _: UnresolvedExecuteImmediate => true
      case _ => false
    }
    val isQuery = !runs &&
      (try {
        val _ = parser.parseQuery(sql.reverse.dropWhile(c => c == ';' || c.isWhitespace).reverse)
        true
      } catch { case _: ParseException => false })
    if (!isQuery) refuse("INVALID_STATEMENT_OR_CLAUSE", "operation" -> s"${parsed.nodeName} (no query)")
  }

  private def id(name: String): String = s"`$name`"

  private def refuse(condition: String, parameters: (String, String)*): Nothing =
    throw new AnalysisException(condition, parameters.toMap)
}
