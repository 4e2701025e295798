package io.phantoms.spark.api

import org.json4s._
import org.json4s.jackson.JsonMethods

import org.apache.spark.sql.{Dataset, Row, SparkSession}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.types.StructType

/**
 * The table functions of SQL: for those who have no JVM at hand, Spark Connect's clients among them, what Python's
 * `explain`, `why_not` and `last_execution` tell. Each asks [[PhantomsCall]], and makes rows of its answer.
 *
 * They answer when a query that names them is analysed: its plan holds the rows. A view is analysed each time it is read;
 * a DataFrame of a classic session once, one of Spark Connect with each action.
 *
 * `phantoms_explain(sql)`: a row for each relation of what is shared, and one for each part that is left alone; those have
 * NULL from `configuration` on. None for a query without a groupBy.
 *
 * | column | of |
 * | --- | --- |
 * | `decision INT` | which decision about the query it is, from 0 |
 * | `operator STRING` | what it is about |
 * | `shared BOOLEAN` | |
 * | `reason STRING` | code of why it was left alone; NULL where shared |
 * | `message STRING` | the same for people; the expected gain where shared |
 * | `configuration STRING` | in the notation |
 * | `cost`, `cost_without DOUBLE` | expected elapsed time with and without sharing, nanoseconds |
 * | `relation STRING` | in the notation |
 * | `keys ARRAY<STRING>` | its columns |
 * | `queries ARRAY<INT>` | ordinals of the groupBys it answers; none: a phantom |
 * | `phantom BOOLEAN` | |
 * | `parent STRING` | the relation that feeds it; NULL: the input |
 * | `placement STRING` | `feeds`, `shipped`, `derived` or `second tier` |
 * | `buckets INT` | of its table on the map side; 0: it has none |
 * | `expected_groups DOUBLE` | |
 *
 * `phantoms_why_not(sql)`: a row for each part that is left alone, none if nothing is: `operator STRING`, `reason STRING`,
 * `message STRING`, `tree STRING` (where in the plan), `workload STRING` (number and groupings of what would have been
 * shared; NULL if it did not come to that) and `advice STRING` (what would make it shareable).
 *
 * `phantoms_last()`: a row for each metric of each operator of the shared query that ran last, none before the first:
 * `execution_id BIGINT` (Spark's; NULL outside of one), `position INT` (of the operator, from the input on),
 * `operator STRING`, `configuration STRING`, `metric STRING`, `value BIGINT`.
 */
private[spark] object SqlFunctions {

  /** As `SparkSessionExtensions.injectTableFunction` takes one. */
  type Description = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan)

  val all: Seq[Description] = Seq(
    ofQuery("phantoms_explain", "tells what is shared of a query, how, and what is left alone", Explain)(explained),
    ofQuery("phantoms_why_not", "tells what is left alone of a query, and why", WhyNot)(leftAlone),
    described("phantoms_last", "", "tells what the operators counted in the shared query that ran last")(last)
  )

  private lazy val Explain = StructType.fromDDL(
    """decision INT, operator STRING, shared BOOLEAN, reason STRING, message STRING, configuration STRING, cost DOUBLE,
      |cost_without DOUBLE, relation STRING, keys ARRAY<STRING>, queries ARRAY<INT>, phantom BOOLEAN, parent STRING,
      |placement STRING, buckets INT, expected_groups DOUBLE""".stripMargin
  )
  private lazy val WhyNot = StructType.fromDDL(
    "operator STRING, reason STRING, message STRING, tree STRING, workload STRING, advice STRING"
  )
  private lazy val Last = StructType.fromDDL(
    "execution_id BIGINT, position INT, operator STRING, configuration STRING, metric STRING, value BIGINT"
  )

  private def ofQuery(name: String, does: String, columns: => StructType)(rows: List[JValue] => Seq[Row]): Description =
    described(name, "sql", does) { arguments =>
      val session = ClassicSession.active
      val answer = SqlArgument.query(session, name, arguments)(ask(session, _, "explain"))
      relation(columns, rows((answer \ "document" \ "decisions").children))
    }

  private def last(arguments: Seq[Expression]): LogicalPlan = {
    SqlArgument.none("phantoms_last", arguments)
    val found = ask(ClassicSession.active, null, "last_execution")
    val rows = for {
      (operator, position) <- (found \ "operators").children.zipWithIndex
      case (metric, value) <- (operator \ "metrics").asInstanceOf[JObject].obj
    } yield Row(
      whole(found \ "execution_id"),
      position,
      text(operator \ "operator"),
      text(operator \ "configuration"),
      metric,
      whole(value)
    )
    relation(Last, rows)
  }

  private def ask(session: SparkSession, query: Dataset[_], call: String): JValue =
    JsonMethods.parse(PhantomsCall.call(session, query, call, "{}"))

  private def relation(columns: StructType, rows: Seq[Row]): LogicalPlan =
    LocalRelation.fromExternalRows(DataTypeUtils.toAttributes(columns), rows)

  private def explained(decisions: List[JValue]): Seq[Row] = decisions.zipWithIndex.flatMap { case (d, i) =>
    val shared = isShared(d)
    val head = Seq(i, text(d \ "subject"), shared, if (shared) null else text(d \ "code"), text(d \ "reason"))
    if (shared) {
      val relations = (d \ "relations").children
      val common = head ++ Seq(text(d \ "notation"), real(d \ "cost"), real(d \ "cost_without"))
      relations.map(r => Row.fromSeq(common ++ ofRelation(r, relations)))
    } else Seq(Row.fromSeq(head.padTo(Explain.size, null)))
  }

  private def ofRelation(r: JValue, all: List[JValue]): Seq[Any] = Seq(
    text(r \ "relation"),
    (r \ "keys").children.map(text),
    (r \ "queries").children.map(number(_).intValue),
    r \ "phantom" == JBool(true),
    r \ "parent" match {
      case JInt(i) => text(all(i.toInt) \ "relation")
      case _ => null
    },
    text(r \ "placement"),
    number(r \ "buckets").intValue,
    real(r \ "expected_groups")
  )

  private def leftAlone(decisions: List[JValue]): Seq[Row] =
    decisions.filterNot(isShared).map { d =>
      val workload = d \ "workload" match {
        case JString(s) => s
        case _ => null
      }
      Row(text(d \ "subject"), text(d \ "code"), text(d \ "reason"), text(d \ "tree"), workload, text(d \ "advice"))
    }

  private def isShared(decision: JValue): Boolean = decision \ "decision" == JString("shared")

  private def text(v: JValue): String = v.asInstanceOf[JString].s

  private def number(v: JValue): BigInt = v.asInstanceOf[JInt].num

  private def whole(v: JValue): Any = v match {
    case JNull => null
    case n => number(n).longValue
  }

  /** NULL where the number is not known. */
  private def real(v: JValue): Any = v match {
    case JDouble(d) => d
    case JInt(n) => n.doubleValue
    case _ => null
  }

  private def described(name: String, parameter: String, does: String)(
      build: Seq[Expression] => LogicalPlan
  ): Description = {
    val info = new ExpressionInfo(
      getClass.getName.stripSuffix("$"),
      null,
      name,
      s"_FUNC_($parameter) - $does.",
      if (parameter.isEmpty) ""
      else s"\n    Arguments:\n      * $parameter - a constant STRING: the query, which is not run\n",
      "",
      "",
      "table_funcs",
      "",
      "",
      "built-in"
    )
    (FunctionIdentifier(name), info, build)
  }
}
