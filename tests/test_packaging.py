from __future__ import annotations

import importlib.util
import os
import re
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import phantoms
from phantoms.session import find_jar

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_jar", ROOT / "python/build_jar.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose build/sbt writes a jar that says how often it was built."""
    (tmp_path / "python/phantoms").mkdir(parents=True)
    (tmp_path / "python/phantoms/_version.py").write_text('__version__ = "9.9.9"\n')
    (tmp_path / "build.sbt").write_text("")
    (tmp_path / "scala-plugin/plugin/src/main").mkdir(parents=True)
    (tmp_path / "build").mkdir()
    sbt = tmp_path / "build/sbt"
    sbt.write_text(
        "#!/bin/sh\nmkdir -p scala-plugin/plugin/target/scala-2.13\n"
        "echo built >> scala-plugin/plugin/target/scala-2.13/spark-phantoms_4-2_2.13-9.9.9.jar\n"
    )
    sbt.chmod(0o755)
    return tmp_path


def test_the_jar_is_built_once_and_again_when_sources_change(hook: ModuleType, checkout: Path) -> None:
    jar = hook.provide(checkout)
    assert jar.name == "spark-phantoms_4.2_2.13-9.9.9.jar"
    assert jar.read_text() == "built\n"
    assert hook.provide(checkout).read_text() == "built\n"
    source = checkout / "scala-plugin/plugin/src/main/New.scala"
    source.write_text("")
    future = jar.stat().st_mtime + 5
    os.utime(source, (future, future))
    assert hook.provide(checkout).read_text() == "built\nbuilt\n"


def test_a_build_without_a_jar_is_an_error(hook: ModuleType, checkout: Path) -> None:
    (checkout / "build/sbt").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(RuntimeError, match="no jar"):
        hook.provide(checkout)


def test_the_jar_has_the_extension_and_its_build(jar: Path) -> None:
    assert jar == find_jar()
    with zipfile.ZipFile(jar) as content:
        names = content.namelist()
        assert "io/phantoms/spark/PhantomsExtensions.class" in names
        assert "io/phantoms/spark/api/PhantomsApi.class" in names
        assert any(n.startswith("io/phantoms/spark/search/") for n in names)
        assert all(n.startswith(("io/", "META-INF/")) or n == "phantoms-build.properties" for n in names)
        properties = content.read("phantoms-build.properties").decode()
    assert f"version={phantoms.__version__}" in properties
    minor = re.search(r"spark\.minor=(\S+)", properties)
    assert minor is not None
    assert f"_{minor[1]}_" in jar.name


def test_the_jar_has_its_licence_and_is_no_program(jar: Path) -> None:
    with zipfile.ZipFile(jar) as content:
        manifest = content.read("META-INF/MANIFEST.MF").decode()
        for name in ("LICENSE", "NOTICE"):
            assert content.read(f"META-INF/{name}") == (ROOT / name).read_bytes()
    assert "Implementation-Title: spark-phantoms" in manifest
    assert "Main-Class" not in manifest
