package io.phantoms.spark.source.ip

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, ExpressionInfo}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, DataType, NullType, StringType}

/** The SQL functions of addresses, as `SparkSessionExtensions.injectFunction` takes them. */
private[spark] object IpFunctions {
  type Description = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression)

  val all: Seq[Description] = Seq(
    described(
      classOf[IpToString],
      "ip_to_string",
      "_FUNC_(ip) - Returns the text of an IP address; IPv6 as RFC 5952 recommends. NULL where `ip` is no address; " +
        "an error under ANSI rules.",
      "* ip - an address as BINARY of 4 or 16 bytes, as INT (the 32 bits of an IPv4 address), or as STRING",
      """> SELECT _FUNC_(X'0A000001');
        |       10.0.0.1
        |      > SELECT _FUNC_(X'20010DB8000000000000000000000001');
        |       2001:db8::1""".stripMargin
    ) { case Seq(ip) => IpToString(typed(ip, BinaryType), SQLConf.get.ansiEnabled) },
    described(
      classOf[IpFromString],
      "ip_from_string",
      "_FUNC_(text) - Returns the IP address of a text as BINARY: 4 bytes of IPv4, 16 of IPv6, in network order. NULL " +
        "where `text` is no address; an error under ANSI rules.",
      "* text - dotted decimals without leading zeros, or IPv6 by RFC 4291 without a zone",
      """> SELECT hex(_FUNC_('10.0.0.1'));
        |       0A000001""".stripMargin
    ) { case Seq(text) => IpFromString(typed(text, StringType), SQLConf.get.ansiEnabled) },
    described(
      classOf[InSubnet],
      "in_subnet",
      "_FUNC_(ip, subnet) - Returns whether an IP address is in a subnet. An IPv4 address is in no IPv6 subnet, and the " +
        "other way round. NULL where `ip` is no address; an error under ANSI rules.",
      """* ip - an address as BINARY of 4 or 16 bytes, as INT (the 32 bits of an IPv4 address), or as STRING
        |      * subnet - a constant STRING, address and length of the prefix; bits behind the prefix do not count""".stripMargin,
      """> SELECT _FUNC_('10.1.2.3', '10.0.0.0/8');
        |       true
        |      > SELECT _FUNC_(X'C0A80001', '10.0.0.0/8');
        |       false""".stripMargin
    ) { case Seq(ip, subnet) =>
      InSubnet(typed(ip, BinaryType), typed(subnet, StringType), SQLConf.get.ansiEnabled)
    }
  )

  /** A bare NULL has no type of its own. */
  private def typed(e: Expression, dataType: DataType): Expression =
    if (e.resolved && e.dataType == NullType) Cast(e, dataType) else e

  private def described(of: Class[_], name: String, usage: String, arguments: String, examples: String)(
      build: PartialFunction[Seq[Expression], Expression]
  ): Description = {
    val info = new ExpressionInfo(
      of.getName,
      null,
      name,
      usage,
      s"\n    Arguments:\n      $arguments\n  ",
      s"\n    Examples:\n      $examples\n  ",
      "",
      "misc_funcs",
      "",
      "",
      "built-in"
    )
    val expected = if (name == "in_subnet") 2 else 1
    (
      FunctionIdentifier(name),
      info,
      found =>
        build.applyOrElse(
          found,
          (_: Seq[Expression]) =>
            throw new AnalysisException(
              "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
              Map(
                "functionName" -> s"`$name`",
                "expectedNum" -> expected.toString,
                "actualNum" -> found.size.toString,
                "docroot" -> "https://spark.apache.org/docs/latest"
              )
            )
        )
    )
  }
}
