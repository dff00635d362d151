"""Change the operators of a pipeline text: add, copy, remove, rename, reorder them, and set their keys.

Whatever is not changed stays as it was written (engine.language.yaml_edit).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import PipelineError
from engine.language.outline import names_in, steps_of
from engine.language.position import Path
from engine.language.yaml_edit import at, insert, move, remove, rename_key, set_value
from engine.language.yaml_reader import read_yaml
from engine.plan.plan import numbered

OPERATIONS = "operations"
_STEPS: Path = ("pipeline", "steps")


def set_key(text: str, index: int, path: Path, value: Any) -> str:
    """Set a key of the operator at an index, or remove it: None stands for its default."""
    whole: Path = (OPERATIONS, index, *path)
    if value is not None:
        return set_value(text, whole, value)
    root, _ = read_yaml(text)
    return remove(text, whole, floor=2) if _is_there(root, whole) else text


def rename_operator(text: str, index: int, name: str) -> str:
    """Give an operator another name, in the steps that run it too; raises PipelineError where the name is taken."""
    root, _ = read_yaml(text)
    old = str(at(root, (OPERATIONS, index)).get("name", ""))
    if name == old:
        return text
    if not name.strip() or name in _names(root):
        raise PipelineError(
            f"the name {name!r} is {'taken' if name.strip() else 'empty'}", advice="Give each operator its own name."
        )
    text = set_value(text, (OPERATIONS, index, "name"), name)
    for step, position in _mentions(root, old):
        place: Path = (*_STEPS, step, OPERATIONS, position)
        is_join = isinstance(at(root, place), Mapping)
        text = rename_key(text, (*place, old), name) if is_join else set_value(text, place, name)
    return text


def add_operator(text: str, keys: Mapping[str, Any], *, after: str = "") -> str:
    """Add an operator with these keys (name and type among them) and run it after another one, or last of all.

    A name that is taken gets a number.
    """
    root, _ = read_yaml(text)
    name = numbered(str(keys["name"]), _names(root))
    index = _index(root, after) + 1 if after else len(root.get(OPERATIONS) or [])
    held = root.get(OPERATIONS)
    entry = {**keys, "name": name}
    text = insert(text, (OPERATIONS,), index, entry) if held else set_value(text, (OPERATIONS,), [entry])
    return _run_after(text, root, name, after)


def duplicate_operator(text: str, index: int) -> str:
    """Add a copy of an operator right after it."""
    root, _ = read_yaml(text)
    operator = at(root, (OPERATIONS, index))
    return add_operator(text, operator, after=str(operator.get("name", "")))


def remove_operator(text: str, index: int) -> str:
    """Remove an operator, from the steps too."""
    root, _ = read_yaml(text)
    name = str(at(root, (OPERATIONS, index)).get("name", ""))
    for step, position in reversed(_mentions(root, name)):
        text = remove(text, (*_STEPS, step, OPERATIONS, position), floor=4)
    return remove(text, (OPERATIONS, index), floor=1)


def move_operator(text: str, name: str, by: int) -> str:
    """Run an operator so many places later (earlier where negative) in its step; at the end of it, nothing changes."""
    root, _ = read_yaml(text)
    for step, position in _mentions(root, name)[:1]:
        count = len(steps_of(root)[step][OPERATIONS])
        new = min(max(position + by, 0), count - 1)
        if new != position:
            return move(text, (*_STEPS, step, OPERATIONS), position, new)
    return text


def _run_after(text: str, root: Any, name: str, after: str) -> str:
    steps = steps_of(root)
    if not steps:
        return text
    step, position = (_mentions(root, after) or [(len(steps) - 1, len(names_in(steps[-1])) - 1)])[0]
    place: Path = (*_STEPS, step, OPERATIONS)
    if not names_in(steps[step]):
        return set_value(text, place, [name])
    return insert(text, place, position + 1, name)


def _mentions(root: Any, name: str) -> list[tuple[int, int]]:
    """List where steps name an operator: (step, position)."""
    return [
        (step, position)
        for step, entry in enumerate(steps_of(root))
        for position, other in enumerate(names_in(entry))
        if other == name
    ]


def _names(root: Any) -> list[str]:
    held = root.get(OPERATIONS) if isinstance(root, Mapping) else None
    return [str(operator.get("name", "")) for operator in held or [] if isinstance(operator, Mapping)]


def _index(root: Any, name: str) -> int:
    names = _names(root)
    if name not in names:
        raise PipelineError(f"there is no operator {name!r}", advice=f"There are: {', '.join(names) or 'none'}.")
    return names.index(name)


def _is_there(root: Any, path: Path) -> bool:
    try:
        at(root, path)
    except PipelineError:
        return False
    return True
