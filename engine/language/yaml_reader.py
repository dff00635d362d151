"""Read YAML into plain values, remembering where each stands. Nothing in a file can make an object.

The reader works on the composed node tree instead of letting the library construct values: so tags
are refused by a list of the allowed ones, aliases are counted each time they are expanded, and every
value keeps its line and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from engine.errors import PipelineError
from engine.language.position import Path, Position, Positions, Where

MAX_CHARACTERS = 2_000_000
MAX_VALUES = 100_000
"""How many values a file may hold, aliases counted as often as they are used."""
MAX_NESTING = 100
MAX_KEPT_CHARACTERS = 100_000
"""The trees of the last texts are kept, unless longer: a pipeline being written is read, checked, changed by turns."""

_TAG = "tag:yaml.org,2002:"

_NO_BREAKS = "\x85\u2028\u2029"
"""Characters that end no line in YAML 1.2, but for the library."""
_PRIVATE = range(0xE000, 0xF900)
"""Characters that mean nothing: some stand for those while the library reads."""

_ADVICE = {
    "'\\t'": "Indent with spaces: here is a tab.",
    "mapping values are not allowed": (
        "Write a space after the colon of each key, indent alike what belongs together, and put text with a colon or "
        "braces in quotation marks."
    ),
    "could not find expected ':'": "Write a space after the colon of each key (type: map), and indent alike.",
    "<block end>": "Indent this line like the lines it belongs with.",
    "": "Check indentation, colons and quotation marks around this place.",
}
"""What to do by what the YAML library says; the last holds for all else."""


def read_yaml(text: str, file: str = "") -> tuple[Any, Positions]:
    """Read one YAML document; raises PipelineError with line and column for anything that is not plain data."""
    if len(text) > MAX_CHARACTERS:
        raise PipelineError(
            f"the file has {len(text)} characters; a pipeline may have {MAX_CHARACTERS}",
            file=file,
            advice="Put data into a dataset file and name it under datasets.",
        )
    root = compose(text, file)
    if root is None:
        raise PipelineError("the file is empty", file=file, advice="A pipeline needs datasets, operations, pipeline.")
    reader = _Reader(text, file)
    value = reader.read(root, ())
    return value, reader.positions


def compose(text: str, file: str = "") -> Node | None:
    """Return the node tree of a text, None where it is empty; raises PipelineError for what is not YAML.

    It is read only: who asks for the same text again may get the same tree.
    """
    _refuse_other_versions(text, file)
    try:
        return _kept_tree(text) if len(text) <= MAX_KEPT_CHARACTERS else _tree(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or ""
        raise PipelineError(
            f"not valid YAML: {problem}",
            file=file,
            line=mark.line + 1 if mark else None,
            column=mark.column + 1 if mark else None,
            advice=next((advice for said, advice in _ADVICE.items() if said in problem), _ADVICE[""]),
        ) from error
    except RecursionError as error:
        raise PipelineError(f"the YAML is nested more than {MAX_NESTING} deep", file=file) from error
    except (YAMLError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise PipelineError(f"not valid YAML: {reason}", file=file) from error


def _tree(text: str) -> Node | None:
    stand_ins = _stand_ins(text)
    read = text.translate({ord(a): b for a, b in stand_ins.items()}) if stand_ins else text
    root: Node | None = YAML(typ="safe", pure=True).compose(read)
    if root is not None and stand_ins:
        _restore(root, str.maketrans({held: character for character, held in stand_ins.items()}))
    return root


_kept_tree = lru_cache(maxsize=4)(_tree)


def _refuse_other_versions(text: str, file: str) -> None:
    """Raise PipelineError for a `%YAML` line of another version than 1.2: in 1.1, for one, `yes` is true."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.startswith("%YAML") and line.split()[1:2] != ["1.2"]:
            message = f"the file says that it is {line[1:].strip()}, but pipelines are YAML 1.2"
            advice = "Remove the line, and write true and false for yes and no."
            raise PipelineError(message, file=file, line=number, column=1, advice=advice)
        if line.strip() and not line.startswith(("%", "#")):
            return


def _stand_ins(text: str) -> dict[str, str]:
    """Choose for each of _NO_BREAKS that a text has a character that it has not."""
    free = (chr(code) for code in _PRIVATE if chr(code) not in text)
    return dict(zip((character for character in _NO_BREAKS if character in text), free, strict=False))


def _restore(root: Node, table: Mapping[int, str]) -> None:
    """Put characters back into all texts of a tree."""
    waiting: list[Node] = [root]
    done: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        if isinstance(node, ScalarNode):
            node.value = node.value.translate(table)
        elif isinstance(node, MappingNode):
            waiting += [part for pair in node.value for part in pair]
        else:
            waiting += node.value


class _Reader:
    """Build values from nodes and note positions on the way."""

    def __init__(self, text: str, file: str) -> None:
        self.lines = text.split("\n")
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}
        self.positions = Positions(file, self.values, self.keys)
        self.count = 0

    def read(self, node: Node, path: Path) -> Any:
        self.values[path] = self.position(node)
        self.refuse_endless(path, len(path))
        match node:
            case MappingNode():
                return self.mapping(node, path)
            case SequenceNode():
                self.require_tag(node, path, "seq")
                return [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
        return self.scalar(node, path)

    def refuse_endless(self, path: Path, depth: int) -> None:
        """Count one more value, so many levels down."""
        self.count += 1
        if self.count > MAX_VALUES:
            self.fail(path, f"the file expands to more than {MAX_VALUES} values", "Use fewer aliases (*name).")
        if depth > MAX_NESTING:
            self.fail(path, f"the YAML is nested more than {MAX_NESTING} deep", "An alias may not contain itself.")

    def mapping(self, node: MappingNode, path: Path) -> dict[Any, Any]:
        self.require_tag(node, path, "map")
        entries: dict[Any, Any] = {}
        for key_node, value_node in self.pairs(node, path):
            if not isinstance(key_node, ScalarNode):
                self.fail(path, "a key must be a single value")
            key = self.scalar(key_node, path)
            self.keys[(*path, key)] = self.position(key_node)
            if key in entries:
                self.values[(*path, key)] = self.position(key_node)
                self.fail((*path, key), f"the key {key!r} is written twice", "Remove one of the two.")
            entries[key] = self.read(value_node, (*path, key))
        return entries

    def pairs(self, node: MappingNode, path: Path, depth: int = 0) -> Iterator[tuple[Node, Node]]:
        """Give the entries of a mapping; those merged with `<<` come where they are not written here.

        What is merged may have merged others itself: `depth` says how often.
        """
        written = [(k, v) for k, v in node.value if k.tag != f"{_TAG}merge"]
        seen: set[Any] = {k.value for k, _ in written if isinstance(k, ScalarNode)}
        yield from written
        for key, merged in node.value:
            if key.tag != f"{_TAG}merge":
                continue
            for source in merged.value if isinstance(merged, SequenceNode) else [merged]:
                if not isinstance(source, MappingNode):
                    self.fail(path, "<< needs a mapping, or a list of mappings")
                self.refuse_endless(path, depth + 1)
                for k, v in self.pairs(source, path, depth + 1):
                    name = k.value if isinstance(k, ScalarNode) else id(k)
                    if name not in seen:
                        seen.add(name)
                        yield k, v

    def scalar(self, node: Node, path: Path) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        try:
            match kind:
                case "str" | "timestamp":
                    return node.value
                case "null":
                    return None
                case "bool":
                    return node.value.lower() == "true"
                case "int":
                    return _whole_number(node.value)
                case "float":
                    return float(node.value.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            self.fail(path, f"{node.value!r} is not a number", "Put it in quotation marks if it is text.")
        return self.refuse_tag(node, path)

    def require_tag(self, node: Node, path: Path, expected: str) -> None:
        if node.tag != _TAG + expected:
            self.refuse_tag(node, path)

    def refuse_tag(self, node: Node, path: Path) -> Any:
        shown = str(node.tag).replace(_TAG, "!!", 1)
        return self.fail(path, f"the YAML tag {shown} is not accepted", "Remove the tag: pipelines are data.")

    def position(self, node: Node) -> Position:
        start, end = node.start_mark, node.end_mark
        line, column = start.line + 1, start.column + 1
        if not isinstance(node, ScalarNode):
            return Position(line, column)
        if node.style == "|":
            return Position(line, column, line + 1, self.block_column(node, start), True)
        quotes = 1 if node.style in ("'", '"') else 0
        is_plain = start.line == end.line and end.column - start.column - 2 * quotes == len(node.value)
        return Position(line, column, line, column + quotes, is_plain)

    def block_column(self, node: ScalarNode, start: StringMark) -> int:
        """Find the column at which the text of a `|` block begins."""
        for offset, text in enumerate(node.value.split("\n")):
            if text.strip() and start.line + 1 + offset < len(self.lines):
                raw = self.lines[start.line + 1 + offset]
                return len(raw) - len(raw.lstrip()) - (len(text) - len(text.lstrip())) + 1
        return 1

    def fail(self, path: Path, message: str, advice: str = "") -> Any:
        raise Where(self.positions, path).error(message, advice=advice)


def _whole_number(text: str) -> int:
    """Read 12, 1_000, 0x1f, 0o17, 0b101, each with a sign or without; raises ValueError."""
    has_base = text.lstrip("+-")[:2] in ("0x", "0o", "0b")
    return int(text.replace("_", ""), 0) if has_base else int(text)
