"""The plugin beside another extension in a jar of its own, however that one is configured."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyspark
import pytest

from conftest import environment, spark_submit

SOURCE = """
package second;
public class Second extends scala.runtime.AbstractFunction1<Object, Object> {
  @Override public Object apply(Object extensions) {
    System.setProperty("second.applied", "yes");
    return scala.runtime.BoxedUnit.UNIT;
  }
}
"""

JOB = """
import json, sys
import phantoms
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = phantoms.configure(builder).getOrCreate()
conf = spark.sparkContext.getConf()
print(json.dumps({
    "active": phantoms.is_active(spark),
    "second": spark._jvm.java.lang.System.getProperty("second.applied"),
    "extensions": conf.get("spark.sql.extensions"),
    "jars": conf.get("spark.jars"),
    "sent": list(spark.sparkContext._jsc.sc().listJars().mkString(",").split(",")),
}))
"""
SECOND = "second.Second"
BOTH = "second.Second,io.phantoms.spark.PhantomsExtensions"


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar with an extension that leaves a trace."""
    folder = tmp_path_factory.mktemp("second")
    (folder / "Second.java").write_text(SOURCE)
    home = os.environ.get("JAVA_HOME")
    javac = str(Path(home) / "bin/javac") if home else shutil.which("javac")
    assert javac is not None, "the tests need a JDK"
    library = next((Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar"))
    subprocess.run([javac, "-cp", str(library), "-d", str(folder), str(folder / "Second.java")], check=True)
    jar = folder / "second.jar"
    with zipfile.ZipFile(jar, "w") as z:
        z.write(folder / "second/Second.class", "second/Second.class")
    return jar


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return path


def run(command: list[str], **extra: str) -> Any:
    env = {k: v for k, v in environment().items() if not k.startswith("PYSPARK_SUBMIT")} | extra
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)


def answer(done: Any) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def check(found: dict[str, Any], second: Path, jar: Path) -> None:
    assert found["active"]
    assert found["second"] == "yes"
    assert found["extensions"] == BOTH
    assert [Path(j).name for j in found["jars"].split(",")] == [second.name, jar.name]
    assert {Path(j).name for j in found["sent"]} == {second.name, jar.name}


@pytest.mark.in_turn
def test_in_the_defaults_of_a_conf_folder(second: Path, jar: Path, job: Path, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"spark.jars  {second}\nspark.sql.extensions  {SECOND}\n")
    check(answer(run([sys.executable, str(job)], SPARK_CONF_DIR=str(tmp_path))), second, jar)


@pytest.mark.in_turn
def test_on_the_command_line_of_the_shell(second: Path, jar: Path, job: Path) -> None:
    arguments = f"--jars {second} --conf spark.sql.extensions={SECOND} pyspark-shell"
    check(answer(run([sys.executable, str(job)], PYSPARK_SUBMIT_ARGS=arguments)), second, jar)


@pytest.mark.in_turn
def test_under_spark_submit(second: Path, jar: Path, job: Path) -> None:
    """The error names a command line, and that one works."""
    mine = [str(spark_submit()), "--conf", f"spark.sql.extensions={SECOND}"]
    refused = run([*mine, "--jars", str(second), str(job)])
    assert refused.returncode != 0
    said = refused.stdout + refused.stderr
    assert "[NOT_ACTIVE] the JVM of this process runs already" in said
    advised = shlex.split(next(line for line in said.splitlines() if "spark-submit --jars" in line).split(": ", 2)[-1])
    assert advised[0] == "spark-submit"
    assert advised[1:] == ["--jars", f"{second.as_uri()},{jar}", "--conf", f"spark.sql.extensions={BOTH}", "job.py"]
    check(answer(run([str(spark_submit()), *advised[1:-1], str(job)])), second, jar)
    # With the jar on the class path the conf alone may be left to configure().
    check(answer(run([*mine, "--jars", f"{second},{jar}", str(job)])), second, jar)
