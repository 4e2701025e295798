"""Who may know whom in the Python package, see docs/architecture.md: the facade knows nothing of the laboratory."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "python" / "phantoms"
LAB = "phantoms.lab"
CLI = "phantoms.cli"


def read() -> dict[str, str]:
    """The sources of all modules by their dotted names; a package stands for its ``__init__``."""
    sources = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return sources


def packages(sources: Mapping[str, str]) -> set[str]:
    return {name.rpartition(".")[0] for name in sources} - {""} | {"phantoms"}


def statements(tree: ast.AST, lazy: bool) -> Iterator[ast.stmt]:
    """Imports that run with the module; with `lazy` those in functions too. What only type checkers see is none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from (s for other in node.orelse for s in statements(ast.Module([other], []), lazy))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif lazy or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from statements(node, lazy)


def imports(sources: Mapping[str, str], lazy: bool = False) -> dict[str, set[str]]:
    """Modules of ours that each module imports."""
    found: dict[str, set[str]] = {name: set() for name in sources}
    inner = packages(sources)
    for name, text in sources.items():
        package = name if name in inner else name.rpartition(".")[0]
        for node in statements(ast.parse(text), lazy):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            else:
                assert isinstance(node, ast.ImportFrom)
                up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*up, node.module] if node.module else up)
                # ``from phantoms import stats`` names a module, ``from phantoms.stats import load`` something in one.
                named = [f"{base}.{a.name}" if f"{base}.{a.name}" in sources else base for a in node.names]
            found[name] |= {n for n in named if n in sources and n != name}
    return found


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Some names that lead back to the first; empty if there are none."""

    def search(path: list[str], done: set[str]) -> list[str]:
        for other in sorted(graph.get(path[-1], ())):
            if other in path:
                return path[path.index(other) :]
            if other not in done and (found := search([*path, other], done)):
                return found
        done.add(path[-1])
        return []

    done: set[str] = set()
    return next((found for name in sorted(graph) if (found := search([name], done))), [])


def by_package(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Packages that each package's modules import, lazily too."""
    inner = packages(sources)

    def package(name: str) -> str:
        return name if name in inner else name.rpartition(".")[0]

    graph: dict[str, set[str]] = {p: set() for p in inner}
    for name, others in imports(sources, lazy=True).items():
        graph[package(name)] |= {package(o) for o in others} - {package(name)}
    return graph


def knows(sources: Mapping[str, str], package: str, lazy: bool) -> set[str]:
    """Modules outside a package that import something of it."""

    def within(name: str) -> bool:
        return name == package or name.startswith(f"{package}.")

    return {n for n, others in imports(sources, lazy).items() if not within(n) and any(map(within, others))}


def test_the_facade_never_imports_the_laboratory() -> None:
    sources = read()
    assert f"{LAB}.benchmark.run" in sources
    assert knows(sources, LAB, lazy=False) == set()
    # The command line does when a command needs it, and nobody else.
    assert knows(sources, LAB, lazy=True) == {f"{CLI}.main"}


def test_only_entry_points_know_the_command_line() -> None:
    assert knows(read(), CLI, lazy=True) == set()


def test_no_circle_between_packages_or_modules() -> None:
    sources = read()
    assert circle(by_package(sources)) == []
    assert circle(imports(sources)) == []


PLANTED = {
    "phantoms": "",
    "phantoms.stats": "",
    "phantoms.lab": "",
    "phantoms.lab.data": "from phantoms import stats",
    "phantoms.lab.data.store": "from phantoms.lab.demo.run import x",
    "phantoms.lab.demo": "",
    "phantoms.lab.demo.run": "import phantoms.stats",
}


def test_a_planted_circle() -> None:
    assert circle(by_package(PLANTED)) == []
    made = PLANTED | {"phantoms.lab.demo.run": "def f():\n    from ..data import store"}
    assert circle(by_package(made)) == ["phantoms.lab.data", "phantoms.lab.demo"]
    modules = {"phantoms": "", "phantoms.a": "from phantoms import b", "phantoms.b": "from .a import x"}
    assert circle(imports(modules)) == ["phantoms.a", "phantoms.b"]


@pytest.mark.parametrize(
    "text",
    [
        "import phantoms.lab.data",
        "from phantoms import lab",
        "from phantoms.lab.data import store",
        "from . import lab",
        "from .lab.data import store",
        "try:\n    from phantoms.lab import data\nexcept ImportError:\n    pass",
        "class A:\n    from phantoms.lab import data",
    ],
)
def test_a_planted_import_of_the_laboratory(text: str) -> None:
    assert knows(PLANTED | {"phantoms.stats": text}, LAB, lazy=False) == {"phantoms.stats"}
    inside = "def f():\n" + "\n".join(f"    {line}" for line in text.splitlines())
    assert knows(PLANTED | {"phantoms.stats": inside}, LAB, lazy=False) == set()
    assert knows(PLANTED | {"phantoms.stats": inside}, LAB, lazy=True) == {"phantoms.stats"}


def test_what_only_type_checkers_see_is_no_import() -> None:
    text = "if TYPE_CHECKING:\n    from phantoms.lab import data"
    assert knows(PLANTED | {"phantoms.stats": text}, LAB, lazy=True) == set()
