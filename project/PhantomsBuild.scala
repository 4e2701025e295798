import sbt._
import sbt.Keys._

/** The logic behind `build.sbt`. */
object PhantomsBuild {
  val lane: SparkLane = SparkLanes.current

  /** One version for jar and wheel, read from the Python package. */
  val phantomsVersion: String = {
    val text = IO.read(file("python/phantoms/_version.py"))
    """__version__ = "([^"]+)"""".r.findFirstMatchIn(text).map(_.group(1))
      .getOrElse(sys.error("python/phantoms/_version.py: no __version__"))
  }

  val compilerOptions: Seq[String] = Seq(
    "-deprecation",
    "-feature",
    "-unchecked",
    "-Xlint:_,-byname-implicit,-infer-any",
    "-Wunused:_",
    "-Wvalue-discard",
    "-Xfatal-warnings",
    "-release",
    "17",
    "-encoding",
    "utf-8"
  )

  val scalatest: ModuleID = "org.scalatest" %% "scalatest" % "3.2.20" % Test

  val sparkDependencies: Seq[ModuleID] =
    Seq(lane.sql % Provided, lane.catalystTests, lane.sqlTests, lane.coreTests, lane.sqlApiTests)

  /**
   * Packs another project's classes into this jar (thin: nothing third-party inside), and the licence with them. It is no
   * program: without this, sbt makes one of whichever object has a main method.
   */
  def oneJar(other: Project): Seq[Setting[_]] = Seq(
    Compile / packageBin / mappings ++= (other / Compile / packageBin / mappings).value,
    Compile / packageBin / mappings ++= Seq("LICENSE", "NOTICE").map { name =>
      (ThisBuild / baseDirectory).value / name -> s"META-INF/$name"
    },
    Compile / packageBin / mainClass := None
  )

  /** `phantoms-build.properties`: the Spark minor the jar was built for, checked at start-up. */
  val buildInfo: Seq[Setting[_]] = Seq(
    Compile / resourceGenerators += Def.task {
      val out = (Compile / resourceManaged).value / "phantoms-build.properties"
      IO.write(out, s"version=${version.value}\nspark.minor=${lane.minor}\nspark.version=${lane.version}\n")
      Seq(out)
    }.taskValue
  )

  /** The benchmarks' JVMs inherit what the one that starts them was given. */
  val tableBenchmarks: Seq[Setting[_]] = Seq(
    Compile / run / baseDirectory := (ThisBuild / baseDirectory).value,
    Compile / run / javaOptions ++= Seq("-Xmx3g", "-XX:+UseParallelGC", "-Dlog4j2.level=ERROR") ++ opened.map(open)
  )

  private def open(p: String): String = s"--add-opens=java.base/$p=ALL-UNNAMED"

  /** Reports and timings of the chooser run in a JVM of their own: sbt's has its own idea of which collections are hot. */
  val reports: Seq[Setting[_]] = Seq(
    Test / run / fork := true,
    Test / run / baseDirectory := (ThisBuild / baseDirectory).value
  )

  /** Tests that need no JVM of their own read the knobs of the suites from sbt's. */
  val plainTests: Seq[Setting[_]] = Seq(
    Test / testOptions += Tests.Setup(() => System.setProperty("phantoms.matrix.seed", matrixSeed.toString): Unit)
  )

  val sparkTests: Seq[Setting[_]] = Seq(
    Test / fork := true,
    // Two JVMs beside each other, one suite each at a time: much of a suite waits for the one thread that plans.
    Test / parallelExecution := true,
    Test / testGrouping := {
      val options = (Test / forkOptions).value
      balanced((Test / definedTests).value).zipWithIndex.map { case (tests, i) =>
        Tests.Group(s"group ${i + 1}", tests, Tests.SubProcess(options))
      }
    },
    Test / baseDirectory := (ThisBuild / baseDirectory).value,
    Test / javaOptions ++= Seq(
      "-Xmx4g",
      // Plans and compiled sources are young garbage: in a small nursery it is copied, and a tenth of the time goes there.
      "-Xmn768m",
      "-Xss4m",
      // Suites compile thousands of classes and run each for milliseconds: the optimizing compiler costs more than it gains.
      "-XX:TieredStopAtLevel=1",
      "-XX:+UseSerialGC",
      "-XX:ReservedCodeCacheSize=512m",
      "-Dspark.testing=1",
      "-Dspark.ui.enabled=false",
      // The same class is compiled once for all suites of a JVM: variants of a query share most of theirs.
      "-Dspark.sql.codegen.cache.maxEntries=3000",
      "-Dlog4j2.level=WARN",
      "-XX:+IgnoreUnrecognizedVMOptions",
      "--add-modules=jdk.incubator.vector",
      "-Djdk.reflect.useDirectMethodHandle=false",
      "-Dio.netty.tryReflectionSetAccessible=true",
      "-Dio.netty.allocator.type=pooled",
      "-Duser.timezone=UTC"
    ) ++ opened.map(open) ++
      // Knobs of the suites, such as phantoms.fuzz, reach the forked JVM.
      sys.props.collect { case (k, v) if k.startsWith("phantoms.") => s"-D$k=$v" } ++
      Seq(s"-Dphantoms.matrix.seed=$matrixSeed")
  )

  /**
   * Where suites take turns at the settings that they combine, which are whose turn: others with every commit, unless
   * `-Dphantoms.matrix.seed=N` says.
   */
  private lazy val matrixSeed: Long = {
    val seed = sys.props.get("phantoms.matrix.seed").filter(_.nonEmpty).map(_.toLong).getOrElse {
      val commit = scala.util.Try(scala.sys.process.Process(Seq("git", "rev-parse", "HEAD")).!!(quiet).trim).toOption
      commit.filter(_.matches("[0-9a-f]{8,}")).fold(0L)(c => java.lang.Long.parseLong(c.take(7), 16))
    }
    println(s"phantoms.matrix.seed=$seed")
    seed
  }
  private lazy val quiet = scala.sys.process.ProcessLogger(_ => ())

  /** Suites whose queries are the same and whose classes, once compiled, serve all of them. */
  private val families =
    Seq("AggregateTraps|TinyMemoryTraps|TinyPoolTraps", "GroupingSetTraps", "UnionTraps").map(_.r)

  /**
   * Two groups that take about as long, by `project/suite-times`: what suites took when `build/slowest --write` was last
   * run. The longest go first; suites that have a family stay with it.
   */
  private def balanced(tests: Seq[TestDefinition]): Seq[Seq[TestDefinition]] = {
    def simple(t: TestDefinition): String = t.name.split('.').last
    val known = file("project/suite-times")
    // A source distribution has none.
    val times = (if (known.exists) IO.readLines(known) else Nil).map(_.split(' ')).collect {
      case Array(name, seconds) =>
        name -> seconds.toDouble
    }.toMap
    def time(ts: Seq[TestDefinition]): Double = ts.map(t => times.getOrElse(simple(t), 1.0)).sum
    val units = tests.groupBy(t =>
      families.indexWhere(_.findFirstIn(t.name).isDefined) match {
        case -1 => t.name
        case family => family.toString
      }
    ).values.toSeq.map(_.sortBy(t => (-time(Seq(t)), t.name))).sortBy(u => (-time(u), u.head.name))
    units.foldLeft(Seq.fill(2)(Seq.empty[TestDefinition])) { (groups, unit) =>
      val least = groups.indices.minBy(i => time(groups(i)))
      groups.updated(least, groups(least) ++ unit)
    }
  }

  // What Spark's own launcher opens on Java 17 (JavaModuleOptions), needed when tests are forked without it.
  private lazy val opened = Seq(
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar"
  )
}
