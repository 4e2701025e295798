import PhantomsBuild._

ThisBuild / organization := "io.phantoms"
ThisBuild / version := phantomsVersion
ThisBuild / scalaVersion := "2.13.18"
ThisBuild / licenses := Seq(License.Apache2)
ThisBuild / scalacOptions ++= compilerOptions
Global / concurrentRestrictions := Seq(Tags.limit(Tags.ForkedTestGroup, 2), Tags.limitAll(4))
ThisBuild / javacOptions ++= Seq("--release", "17", "-Xlint:all,-processing,-serial")

// Chooser and LFTA tables: no Spark on the class path, so the compiler holds the rule.
lazy val core = (project in file("scala-plugin/core"))
  .settings(name := "phantoms-core", libraryDependencies += scalatest, plainTests)

// The papers' evaluations, and models that no job uses yet; in no jar.
lazy val lab = (project in file("scala-plugin/lab"))
  .dependsOn(core % "compile->compile;test->test")
  .settings(name := "phantoms-lab", publish / skip := true, libraryDependencies += scalatest, reports)

// The Catalyst extension. Its jar carries core's classes, so users add one file.
lazy val plugin = (project in file("scala-plugin/plugin"))
  .dependsOn(core % "compile->compile;test->test")
  .settings(name := "spark-phantoms", moduleName := s"spark-phantoms_${lane.minor}")
  .settings(libraryDependencies ++= scalatest +: sparkDependencies)
  .settings(oneJar(core), sparkTests, buildInfo)

// Measures the tables without Spark around them; in no jar, and run by hand: `make bench-tables`.
lazy val bench = (project in file("scala-plugin/bench"))
  .dependsOn(plugin)
  .enablePlugins(JmhPlugin)
  .settings(name := "phantoms-bench", publish / skip := true, libraryDependencies += lane.sql)
  .settings(tableBenchmarks)

lazy val root = (project in file(".")).aggregate(core, plugin, lab).settings(publish / skip := true)
