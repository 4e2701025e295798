package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.types._

/**
 * An expensive expression over one column, whose last results are kept with the values they came of: hosts, user agents,
 * days and countries come again and again, and a hash, a pattern or a parsed date of them need not be computed each time.
 *
 * A table of [[Remembered.Slots]] entries, in which a value has one place; texts up to [[Remembered.Longest]] bytes. An error
 * is not kept: it is raised for each row. Where values seldom come again, looking is given up for the rest of the task.
 *
 * @param child deterministic, of Spark's own functions, over `column` and nothing else
 * @param column an integer or a string
 */
final case class Remembered(child: Expression, column: BoundReference) extends UnaryExpression {
  import Remembered._

  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def prettyName: String = "remembered"
  override def eval(input: InternalRow): Any = child.eval(input)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    import org.apache.spark.sql.catalyst.expressions.codegen.Block._
    val isText = column.dataType == StringType
    val keyType = if (isText) "UTF8String" else "long"
    val javaType = CodeGenerator.javaType(dataType)
    def array(of: String, name: String): String =
      ctx.addMutableState(s"$of[]", name, v => s"$v = new $of[$Slots];", forceInline = true)
    val keys = array(keyType, "keys")
    val values = array(javaType, "values")
    val states = array("byte", "states")
    val hits = ctx.addMutableState(
      classOf[HitRate].getName,
      "hits",
      v => s"$v = new ${classOf[HitRate].getName}();",
      forceInline = true
    )
    val in = column.genCode(ctx)
    val computed = child.genCode(ctx)
    val looks = ctx.freshName("looks")
    val key = ctx.freshName("key")
    val slot = ctx.freshName("slot")
    val known = ctx.freshName("known")
    val hash =
      if (isText) s"$key.hashCode()" else s"(int) (($key * 0x9E3779B97F4A7C15L) >>> 32)"
    val same = if (isText) s"$key.equals($keys[$slot])" else s"$keys[$slot] == $key"
    val keep = if (dataType == StringType) s"${ev.value}.clone()" else ev.value.toString
    val shortKey = if (isText) s" && ${in.value}.numBytes() <= $Longest" else ""
    val shortResult =
      if (dataType == StringType) s"${ev.isNull} || ${ev.value}.numBytes() <= $Longest" else "true"
    val none = CodeGenerator.defaultValue(dataType)
    ev.copy(code =
      code"""${in.code}
            |boolean ${ev.isNull} = false;
            |$javaType ${ev.value} = $none;
            |final boolean $looks = $hits.looks() && !${in.isNull}$shortKey;
            |final $keyType $key = $looks ? ${if (isText) in.value.toString
        else s"(long) ${in.value}"} : ${if (isText) "null" else "0L"};
            |final int $slot = $looks ? ($hash) & ${Slots - 1} : 0;
            |final boolean $known = $looks && $states[$slot] != 0 && $same;
            |if ($known) {
            |  $hits.hit();
            |  ${ev.isNull} = $states[$slot] == 2;
            |  ${ev.value} = $values[$slot];
            |} else {
            |  ${computed.code}
            |  ${ev.isNull} = ${computed.isNull};
            |  ${ev.value} = ${computed.value};
            |  if ($looks) {
            |    $hits.miss();
            |    if ($shortResult) {
            |      $states[$slot] = (byte) (${ev.isNull} ? 2 : 1);
            |      $keys[$slot] = ${if (isText) s"$key.clone()" else key};
            |      $values[$slot] = ${ev.isNull} ? $none : $keep;
            |    }
            |  }
            |}""".stripMargin
    )
  }

  override protected def withNewChildInternal(newChild: Expression): Remembered = copy(child = newChild)
}

object Remembered {
  val Slots = 1024

  /** Bytes of a text beyond which it is not kept: documents of megabytes would fill the heap. */
  val Longest = 128

  // Nanoseconds below which an expression of an integer, or of a text, is evaluated sooner than looked up.
  private val WorthInteger = 80.0
  private val WorthText = 250.0

  /** The largest parts of an expression over bound columns that are worth keeping, kept. */
  def in(e: Expression): Expression = columnOf(e) match {
    case Some(column) if e.deterministic && isKept(e.dataType) && worth(e, column) => Remembered(e, column)
    case _ => e.mapChildren(in)
  }

  private def columnOf(e: Expression): Option[BoundReference] =
    if (e.exists(isOthers)) None
    else e.collect { case b: BoundReference => b }.distinct match {
      case Seq(one) => Some(one)
      case _ => None
    }

  /** Functions that are not Spark's own are called row by row: not all that pass for deterministic are. */
  private def isOthers(e: Expression): Boolean = e match {
    case _: PlanExpression[_] | _: Unevaluable | _: UserDefinedExpression | _: ApplyFunctionExpression |
        _: CallMethodViaReflection => true
    case s: StaticInvoke => !isSparks(s.staticObject)
    case i: Invoke => i.targetObject.dataType match {
        case ObjectType(cls) => !isSparks(cls)
        case _ => true
      }
    case _ => false
  }

  private def isSparks(cls: Class[_]): Boolean = cls.getName.startsWith("org.apache.spark.sql.catalyst.")

  private def worth(e: Expression, column: BoundReference): Boolean = column.dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType =>
      ExpressionCost.nanos(e) >= WorthInteger
    case StringType => ExpressionCost.nanos(e) >= WorthText
    case _ => false
  }

  /** Results that are values: others may be changed by the next evaluation. */
  private def isKept(t: DataType): Boolean = t match {
    case StringType => true
    case other => CodeGenerator.isPrimitiveType(other)
  }

  /** Whether looking pays: asked for a number of rows at a time, and for good once it does not. */
  final class HitRate {
    var looks: Boolean = true
    private var hits = 0
    private var misses = 0

    def hit(): Unit = hits += 1

    def miss(): Unit = {
      misses += 1
      if (misses >= Window) {
        if (hits < misses) looks = false
        hits = 0
        misses = 0
      }
    }
  }

  private val Window = 4 * Slots
}
