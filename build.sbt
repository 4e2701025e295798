import PhantomsBuild._

ThisBuild / organization := "io.phantoms"
ThisBuild / version := phantomsVersion
ThisBuild / scalaVersion := "2.13.18"
ThisBuild / licenses := Seq(License.Apache2)
ThisBuild / scalacOptions ++= compilerOptions
ThisBuild / javacOptions ++= Seq("--release", "17", "-Xlint:all,-processing,-serial")

// Chooser and LFTA tables: no Spark on the class path, so the compiler holds the rule.
lazy val core = (project in file("scala-plugin/core"))
  .settings(name := "phantoms-core", libraryDependencies += scalatest)

// The Catalyst extension. Its jar carries core's classes, so users add one file.
lazy val plugin = (project in file("scala-plugin/plugin"))
  .dependsOn(core % "compile->compile;test->test")
  .settings(name := "spark-phantoms", moduleName := s"spark-phantoms_${lane.minor}")
  .settings(libraryDependencies ++= scalatest +: sparkDependencies)
  .settings(oneJar(core), sparkTests, buildInfo)

lazy val root = (project in file(".")).aggregate(core, plugin).settings(publish / skip := true)
