package io.phantoms.spark.fuzz

/** A case as a PySpark program that runs it off and on, and shows the rows that only one of them has. */
object Script {

  /**
   * @param what how the plugin's side differs
   * @param session confs of the session, beside the case's
   */
  def of(c: Case, what: String, session: Map[String, String]): String = {
    val confs = (session - "spark.sql.extensions").toSeq.sorted ++ c.confs
    val forced = c.configuration.fold("")(s =>
      s"# The suite forced the random configuration of seed $s, which no conf can: this may show no difference.\n"
    )
    s""""\"\"${comment(what)}\"\"\"
       |
       |import sys
       |import tempfile
       |from collections import Counter
       |
       |import phantoms
       |from pyspark.sql import DataFrame, SparkSession
       |
       |CONFS = {
       |${confs.map { case (k, v) => s"    ${quoted(k)}: ${quoted(v)}," }.mkString("\n")}
       |}
       |QUERY = ${block(c.sql)}
       |
       |${forced}builder = phantoms.configure(SparkSession.builder.master("local[2]"))
       |for key, value in CONFS.items():
       |    builder = builder.config(key, value)
       |spark = builder.getOrCreate()
       |
       |
       |def table(name: str, values: str, schema: str, form: str, parts: int) -> None:
       |    rows = spark.sql(values)._jdf.javaRDD().repartition(parts)
       |    types = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(schema)
       |    frame = DataFrame(spark._jsparkSession.createDataFrame(rows, types), spark)
       |    if form == "parquet":
       |        folder = tempfile.mkdtemp() + "/" + name
       |        frame.write.parquet(folder)
       |        frame = spark.read.parquet(folder)
       |    elif form == "cached":
       |        frame = frame.cache()
       |    frame.createOrReplaceTempView(name)
       |
       |
       |def shown(value: object) -> str:
       |    return f"{value:.9g}" if isinstance(value, float) else repr(value)
       |
       |
       |def outcome(enabled: bool) -> Counter[str]:
       |    spark.conf.set("spark.phantoms.enabled", str(enabled).lower())
       |    try:
       |        frame = spark.sql(QUERY)
       |        return Counter(["schema: " + frame.schema.simpleString()] + [", ".join(map(shown, r)) for r in frame.collect()])
       |    except Exception as error:
       |        condition = getattr(error, "getCondition", lambda: None)() or str(error).splitlines()[0]
       |        return Counter([f"{type(error).__name__}: {condition}"])
       |
       |
       |${c.tables.map(tableCall).mkString("\n")}
       |plain, shared = outcome(False), outcome(True)
       |for line, count in (plain - shared).items():
       |    print(f"only without the plugin, {count} times: {line}")
       |for line, count in (shared - plain).items():
       |    print(f"only with the plugin, {count} times: {line}")
       |print("equal" if plain == shared else "different")
       |sys.exit(plain != shared)
       |""".stripMargin
  }

  private def tableCall(t: Table): String =
    s"table(${quoted(t.name)}, ${block(Literals.rows(t))}, ${block(t.schema.json)}, ${quoted(t.form)}, ${t.parts})"

  private def comment(text: String): String = text.filter(c => c >= ' ' || c == '\n')
    .replace("\\", "\\\\").replace("\"", "'")

  private def quoted(text: String): String = "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\""
  private def block(text: String): String = "r\"\"\"" + text + "\"\"\""
}
