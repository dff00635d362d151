"""No circle of files: a module that imports another is never imported by it, directly or through others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("desktop", "engine", "models", "storage")


def modules(root: Path, packages: tuple[str, ...]) -> dict[str, Path]:
    """Return each module's file by its dotted name; a package goes by its own."""
    files = (file for package in packages for file in (root / package).rglob("*.py"))
    return {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def is_for_types(node: ast.AST) -> bool:
    """Say whether a statement is `if TYPE_CHECKING:`, whose imports no program runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node below one, functions and all, without what is for types only."""
    rest = [tree]
    while rest:
        below = [node for node in ast.iter_child_nodes(rest.pop()) if not is_for_types(node)]
        yield from below
        rest += below


def imported(file: Path, name: str, known: Mapping[str, Path]) -> set[str]:
    """Return the known modules that a file imports, at the top or in a function."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    names: set[str] = set()
    for node in nodes(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names.update(f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names)
    return {other for other in names if other in known and other != name}


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that reach each other, the strongly connected components of more than one."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        rest = [start]
        while rest:
            new = graph[rest.pop()] - seen
            seen |= new
            rest += new
        return seen

    reach = {name: reached(name) for name in graph}
    rings = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]}
    return sorted(sorted(ring) for ring in rings)


def test_no_modules_import_each_other() -> None:
    known = modules(ROOT, PACKAGES)
    graph = {name: imported(file, name, known) for name, file in known.items()}
    assert sum(map(len, graph.values())) > len(graph), "imports are read"
    assert circles(graph) == []


def test_a_circle_is_seen_also_through_a_function_and_not_through_types(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    texts = {
        "__init__": "",
        "a": "from p import b",
        "b": "def f():\n    from .c import x",
        "c": "import p.a\nx = 1",
        "d": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.e import y",
        "e": "from p.d import z",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    known = modules(tmp_path, ("p",))
    graph = {name: imported(file, name, known) for name, file in known.items()}
    assert graph["p.e"] == {"p.d"}
    assert graph["p.d"] == set()
    assert circles(graph) == [["p.a", "p.b", "p.c"]]


def said_in_code(source: str) -> list[int]:
    """Return the lines where words are put before a model from code: a `Segment` whose text has three or more."""
    if "Segment" not in source:
        return []
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    segments = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Segment")
    return [
        part.lineno
        for call in segments
        for argument in call.args
        for part in ast.walk(argument)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value.split()) >= 3
    ]


def test_no_words_are_put_before_a_model_from_code() -> None:
    files = (file for file in (ROOT / "engine").rglob("*.py"))
    assert {str(file): lines for file in files if (lines := said_in_code(file.read_text(encoding="utf-8")))} == {}


def test_words_in_code_are_seen() -> None:
    assert said_in_code('Segment("user", shown)\nSegment("user", f"Look at {shown} well", shared=True)') == []
    assert said_in_code('Segment("user", "Look at this: " + shown)') == [1]
