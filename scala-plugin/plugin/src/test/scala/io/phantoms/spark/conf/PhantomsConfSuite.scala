package io.phantoms.spark.conf

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.collection.mutable

import io.phantoms.spark.model.{Machine, MachineConstants}

import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

class PhantomsConfSuite extends AnyFunSuite {
  private class OpenConf extends SQLConf {
    def force(key: String, value: String): Unit = {
      val _ = this.settings.put(key, value)
    }
  }

  private def settings(values: (String, String)*): (PhantomsSettings, Seq[String]) = {
    val conf = new OpenConf
    // Around the check at set time, as a value from before the plugin was loaded comes.
    values.foreach { case (k, v) => conf.force(k, v) }
    val warnings = mutable.Buffer.empty[String]
    (PhantomsConf.read(conf, w => { val _ = warnings += w }), warnings.toSeq)
  }

  test("defaults") {
    val (s, warnings) = settings()
    assert(warnings.isEmpty)
    assert(
      s.enabled && s.groupingSets && s.multiAggregate && s.windows && s.predicates && s.sampling.enabled && !s.strict && !s.exactFloatingPoint
    )
    assert(s.observing == ObservingOptions(enabled = true, directory = "", minGain = 0.2))
    assert(s.chooser == "auto" && s.lftaMemory == (8L << 20) && s.minSavings == 0.1 && s.maxQueries == 256)
  }

  test("values as users write them") {
    val (s, _) = settings(
      "spark.phantoms.lfta.memory" -> "16m",
      "spark.phantoms.chooser" -> "GC",
      "spark.phantoms.minSavings" -> "-1",
      "spark.phantoms.enabled" -> "false"
    )
    assert(s.lftaMemory == (16L << 20) && s.chooser == "gc" && s.minSavings == -1 && !s.enabled)
    assert(settings("spark.phantoms.chooser" -> "GP(1.5)")._1.chooser == "gp(1.5)")
  }

  private val wrong = Seq(
    ("spark.phantoms.enabled", "yes please", "boolean"),
    ("spark.phantoms.chooser", "clever", "'auto', 'none'"),
    ("spark.phantoms.lfta.memory", "1k", "between 64k and 4g"),
    ("spark.phantoms.lfta.memory", "much", "much"),
    ("spark.phantoms.minSavings", "1.5", "fraction below 1"),
    ("spark.phantoms.minSavings", "a lot", "double"),
    ("spark.phantoms.maxQueries", "1", "at least 2"),
    ("spark.phantoms.stats.sample.rows", "3", "between 1000 and"),
    ("spark.phantoms.stats.observe.minGain", "1", "fraction from 0"),
    ("spark.phantoms.machine", "c1=12,c3=5", "'c3'"),
    ("spark.phantoms.machine", "merge=-1", "merge is -1"),
    ("spark.phantoms.machine", "c2=dear", "'dear'"),
    ("spark.phantoms.machine", "{\"c1\": \"12\"}", "c1 is no number"),
    ("spark.phantoms.machine", "{c1", "JSON"),
    ("spark.phantoms.verify", "always", "'off', 'sample', 'full'"),
    ("spark.phantoms.verify.fraction", "0", "fraction above 0")
  )

  for ((key, value, say) <- wrong) test(s"setting $key=$value is refused with what is wrong") {
    val error = intercept[Exception]((new SQLConf).setConfString(key, value))
    assert(error.getMessage.contains(say) && error.getMessage.contains(key), error.getMessage)
  }

  test("a wrong value that got in is warned about and read as not set") {
    val (s, warnings) = settings("spark.phantoms.minSavings" -> "a lot", "spark.phantoms.maxQueries" -> "0")
    assert(s.minSavings == 0.1 && s.maxQueries == 256 && s.enabled)
    assert(warnings.size == 2 && warnings.exists(_.contains("spark.phantoms.minSavings")))
  }

  test("a mistyped switch switches off") {
    val (s, warnings) = settings("spark.phantoms.enabled" -> "of")
    assert(!s.enabled && warnings.size == 1)
  }

  test("machine constants: pairs, JSON, a file of either") {
    val expected = Machine(c1 = 12, c2 = 140.5)
    val file = Files.createTempFile("machine", ".json")
    def written(text: String): String = Files.write(file, text.getBytes(UTF_8)).toString
    assert(settings()._1.machine == Machine())
    Seq(
      "c1=12, c2=140.5",
      """{"c1": 12, "c2": 140.5}""",
      written("c1=12,c2=140.5\n"),
      written("""{"c1": 12, "c2": 140.5}"""),
      written("""{"format": "phantoms-machine", "spark": "4.2.1", "constants": {"c1": 12, "c2": 140.5}, "cores": 2}""")
    ).foreach { value =>
      val (s, warnings) = settings("spark.phantoms.machine" -> value)
      assert(s.machine == expected && warnings.isEmpty, value)
      (new SQLConf).setConfString("spark.phantoms.machine", value)
    }
    val whole = MachineConstants.of(Machine()).map { case (name, value) => s"$name=${2 * value}" }.mkString(",")
    assert(settings("spark.phantoms.machine" -> whole)._1.machine.fixed == 2 * Machine().fixed)
  }

  test("machine constants that cannot be read: a warning that says why, and the defaults") {
    val file = Files.write(Files.createTempFile("machine", ".json"), """{"constants": {"c1": -3}}""".getBytes(UTF_8))
    Seq(
      "/no/such/machine.json" -> "/no/such/machine.json",
      file.toString -> "c1 is out of range",
      "c9=1" -> "'c9'"
    ).foreach {
      case (value, say) =>
        val (s, warnings) = settings("spark.phantoms.machine" -> value)
        assert(s.machine == Machine() && s.enabled)
        assert(warnings.size == 1 && warnings.head.contains(say) && warnings.head.contains("spark.phantoms.machine"))
        assert(settings("spark.phantoms.machine" -> value)._2 == warnings, "the same words, so that it is said once")
    }
  }

  test("unknown keys, with what was probably meant") {
    val conf = new SQLConf
    conf.setConfString("spark.phantoms.minSaving", "0.2")
    conf.setConfString("spark.phantoms.turbo.charger.pressure", "1")
    conf.setConfString("spark.phantoms.maxQueries", "3")
    conf.setConfString("spark.phantoms.verify", "Full")
    conf.setConfString("spark.phantoms.streaming.enabled", "false")
    val found = PhantomsConf.unknown(conf).toMap
    val streaming = "spark.phantoms.streaming.enabled"
    assert(found.keySet == Set("spark.phantoms.minSaving", "spark.phantoms.turbo.charger.pressure", streaming))
    assert(found(streaming).contains("has no effect yet: streaming plans are left alone"))
    assert(PhantomsConf.all.forall(_.key != streaming))
    assert(found("spark.phantoms.minSaving").contains("did you mean spark.phantoms.minSavings?"))
    assert(found("spark.phantoms.turbo.charger.pressure").contains("known keys"))
  }

  test("docs/configuration.md is the one made from the confs") {
    val text = new String(Files.readAllBytes(Paths.get("docs/configuration.md")), UTF_8)
    assert(
      text == ConfDocs.markdown,
      "run: ./build/sbt 'plugin/Test/runMain io.phantoms.spark.conf.ConfDocs docs/configuration.md'"
    )
  }
}
