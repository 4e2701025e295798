package io.phantoms.spark.fuzz

import io.phantoms.spark.oracle.{DifferentialSuite, Rows}

import org.scalatest.funsuite.AnyFunSuite

/** The parts of the tester by themselves: seeds draw the same again, trees get smaller, literals give values back. */
class QuerySuite extends AnyFunSuite with DifferentialSuite {
  override protected def sessionConf: Map[String, String] = super.sessionConf ++ FuzzSession.confs

  private val seeds = 1L to 300L

  private def shown(t: Table): Seq[Seq[String]] = t.rows.map(_.toSeq.map(Rows.text))

  test("a seed draws one case") {
    seeds.take(60).foreach { s =>
      val (a, b) = (Case.draw(s), Case.draw(s))
      assert(a.sql == b.sql)
      assert(a.confs == b.confs)
      assert(a.tables.map(shown) == b.tables.map(shown))
    }
  }

  test("whatever is smaller is smaller, so that shrinking ends") {
    def size(c: Case): Int = c.sql.length + 1000 * c.confs.size + c.tables.map { t =>
      1 + t.parts + t.columns.size + t.rows.size + t.form.length
    }.sum + c.configuration.size
    seeds.take(40).map(Case.draw).foreach { c =>
      c.smaller.foreach(s => assert(size(s) < size(c), s"${s.sql}\nof\n${c.sql}"))
    }
  }

  test("every kind of query and of input is drawn") {
    val all = seeds.map(s => Case.draw(s).sql)
    Seq(
      "grouping sets",
      "rollup(",
      "cube(",
      "union all",
      "intersect",
      "except",
      "union select",
      "window(",
      "with cte",
      " in (select",
      "exists (",
      "having",
      "filter (where",
      "distinct",
      " join ",
      "order by",
      "limit",
      "over (partition",
      "(select sum"
    ).foreach(word => assert(all.exists(_.contains(word)), word))
    val types = seeds.flatMap(s => Case.tables(s).flatMap(_.columns.map(_.dataType.typeName.takeWhile(_ != '(')))).toSet
    Seq(
      "byte",
      "short",
      "integer",
      "long",
      "float",
      "double",
      "decimal",
      "string",
      "boolean",
      "binary",
      "date",
      "timestamp",
      "timestamp_ntz",
      "struct",
      "array"
    ).foreach(t => assert(types.contains(t), t))
    assert(seeds.exists(s => Case.tables(s).head.rows.isEmpty))
  }

  test("literals give a table's values back, to the bit") {
    (0L to 12L).flatMap(s => Case.tables(s * 6)).filter(_.rows.size <= 100).foreach { t =>
      val made = spark.sql(Literals.rows(t))
      assert(made.schema.map(f => f.name -> f.dataType) == t.schema.map(f => f.name -> f.dataType))
      assert(made.collect().toSeq.map(_.toSeq.map(Rows.text)) == shown(t))
    }
  }
}
