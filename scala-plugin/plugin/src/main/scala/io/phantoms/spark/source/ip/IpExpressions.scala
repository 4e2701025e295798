package io.phantoms.spark.source.ip

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult.{TypeCheckFailure, TypeCheckSuccess}
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** How SQL sees an address: the bytes, the bits of an IPv4 one, or a text. */
private[ip] object AddressType {
  def check(function: String, dataType: DataType): TypeCheckResult = dataType match {
    case BinaryType | IntegerType | _: StringType => TypeCheckSuccess
    case other =>
      TypeCheckFailure(
        s"$function takes an address as BINARY of 4 or 16 bytes, as INT (IPv4) or as STRING, not as ${other.sql}"
      )
  }

  /** Its bytes, or null where it is no address. */
  def address(value: Any, ansi: Boolean): Array[Byte] = value match {
    case text: UTF8String => IpCalls.address(text, ansi)
    case bytes: Array[Byte] => IpCalls.address(bytes, ansi)
    case other => throw new IllegalArgumentException(s"$other is no value of these types")
  }

  val calls: String = classOf[IpCalls].getName
}

/**
 * The text of an address; IPv6 as RFC 5952 has it.
 *
 * @param ansi whether what is no address is an error; otherwise it is NULL
 */
private[spark] final case class IpToString(child: Expression, ansi: Boolean) extends UnaryExpression {
  override def nullIntolerant: Boolean = true
  override def prettyName: String = "ip_to_string"
  override def dataType: DataType = StringType
  override def nullable: Boolean = child.nullable || child.dataType != IntegerType
  override def checkInputDataTypes(): TypeCheckResult = AddressType.check(prettyName, child.dataType)
  override protected def withNewChildInternal(newChild: Expression): IpToString = copy(child = newChild)

  override protected def nullSafeEval(input: Any): Any = input match {
    case bits: Int => IpCalls.text(bits)
    case other => IpCalls.text(AddressType.address(other, ansi))
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = nullSafeCodeGen(
    ctx,
    ev,
    value =>
      if (child.dataType == IntegerType) s"${ev.value} = ${AddressType.calls}.text($value);"
      else
        s"""${ev.value} = ${AddressType.calls}.text(${AddressType.calls}.address($value, $ansi));
           |${ev.isNull} = ${ev.value} == null;""".stripMargin
  )
}

/**
 * The bytes of the address that a text is.
 *
 * @param ansi whether another text is an error; otherwise it is NULL
 */
private[spark] final case class IpFromString(child: Expression, ansi: Boolean) extends UnaryExpression {
  override def nullIntolerant: Boolean = true
  override def prettyName: String = "ip_from_string"
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = true
  override protected def withNewChildInternal(newChild: Expression): IpFromString = copy(child = newChild)

  override def checkInputDataTypes(): TypeCheckResult = child.dataType match {
    case _: StringType => TypeCheckSuccess
    case other => TypeCheckFailure(s"$prettyName takes a STRING, not ${other.sql}")
  }

  override protected def nullSafeEval(input: Any): Any = AddressType.address(input, ansi)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = nullSafeCodeGen(
    ctx,
    ev,
    value =>
      s"""${ev.value} = ${AddressType.calls}.address($value, $ansi);
         |${ev.isNull} = ${ev.value} == null;""".stripMargin
  )
}

/**
 * Whether an address is in a subnet, which is the same for all rows and read once.
 *
 * @param left the address
 * @param right a constant text such as 10.0.0.0/8
 * @param ansi whether what is no address is an error; otherwise the answer is NULL
 */
private[spark] final case class InSubnet(left: Expression, right: Expression, ansi: Boolean) extends BinaryExpression {
  override def nullIntolerant: Boolean = true
  override def prettyName: String = "in_subnet"
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = true

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): InSubnet =
    copy(left = newLeft, right = newRight)

  override def checkInputDataTypes(): TypeCheckResult = {
    val ofSubnet = right.dataType match {
      case _: StringType if !right.foldable =>
        TypeCheckFailure(s"the subnet of $prettyName has to be a constant, not ${right.sql}")
      case _: StringType =>
        try {
          val _ = subnet
          TypeCheckSuccess
        } catch { case e: IllegalArgumentException => TypeCheckFailure(e.getMessage) }
      case other => TypeCheckFailure(s"the subnet of $prettyName has to be a STRING, not ${other.sql}")
    }
    if (ofSubnet.isFailure) ofSubnet else AddressType.check(prettyName, left.dataType)
  }

  /** None where it is NULL. */
  @transient lazy val subnet: Option[Subnet] = Option(right.eval()).map(text => Subnet.parse(text.toString))

  override def eval(row: InternalRow): Any = left.eval(row) match {
    case null => null
    case _ if subnet.isEmpty => null
    case bits: Int => subnet.get.contains(bits)
    case other =>
      val address = AddressType.address(other, ansi)
      if (address == null) null else subnet.get.contains(address)
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val ip = left.genCode(ctx)
    val test = subnet.fold("") { s =>
      val known = ctx.addReferenceObj("subnet", s, classOf[Subnet].getName)
      if (left.dataType == IntegerType) s"${ev.isNull} = false; ${ev.value} = $known.contains(${ip.value});"
      else {
        val address = ctx.freshName("address")
        s"""byte[] $address = ${AddressType.calls}.address(${ip.value}, $ansi);
           |if ($address != null) {
           |  ${ev.isNull} = false;
           |  ${ev.value} = $known.contains($address);
           |}""".stripMargin
      }
    }
    ev.copy(code = code"""
      ${ip.code}
      boolean ${ev.isNull} = true;
      boolean ${ev.value} = false;
      if (!${ip.isNull}) {
        $test
      }""")
  }
}
