"""Random edits of cards and of the YAML: what the cards show is what the YAML says, whatever was done before."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import PipelineError
from engine.language.outline import outline, step_operators
from engine.language.yaml_edit import insert, move, remove, rename_key, set_value
from engine.language.yaml_reader import read_yaml
from engine.templates import templates
from engine.worker.pipeline_changes import changed

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(-100, 100), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcxyz_", min_size=1, max_size=6), inner, max_size=4)
    ),
    max_leaves=8,
)
NAMES = st.text("abcdefgh_ ", min_size=1, max_size=8).map(str.strip).filter(bool)
LINES = st.lists(st.text("ab:#- |{}'\"\t", max_size=12), min_size=2, max_size=6).map("\n".join)
TEMPLATES = st.sampled_from([template.text for template in templates()])


def paths(value: Any, above: tuple = ()) -> list[tuple]:
    """List the paths of all values."""
    found = [above] if above else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += paths(inner, (*above, key))
    return found


def inside(value: Any, path: tuple) -> Any:
    for key in path:
        value = value[key]
    return value


@settings(max_examples=40, deadline=None)
@given(text=TEMPLATES, data=st.data())
def test_any_value_may_be_set_anywhere(text: str, data: st.DataObject) -> None:
    for _ in range(3):
        path = data.draw(st.sampled_from(paths(read_yaml(text)[0])))
        value = data.draw(st.one_of(VALUES, LINES))
        new = set_value(text, path, value)
        assert inside(read_yaml(new)[0], path) == value
        text = new


@settings(max_examples=40, deadline=None)
@given(text=TEMPLATES, data=st.data())
def test_entries_come_go_and_change_places(text: str, data: st.DataObject) -> None:
    for _ in range(3):
        root = read_yaml(text)[0]
        held = [path for path in paths(root) if isinstance(inside(root, path), list | dict) and inside(root, path)]
        path = data.draw(st.sampled_from(held))
        count = len(inside(root, path))
        match data.draw(st.sampled_from(["move", "remove", "insert", "rename"])):
            case "move":
                new = move(text, path, data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1)))
                assert sorted(map(repr, inside(read_yaml(new)[0], path))) == sorted(map(repr, inside(root, path)))
            case "remove":
                last = inside(root, path)
                key = data.draw(st.sampled_from(list(last) if isinstance(last, dict) else range(count)))
                new = remove(text, (*path, key))
                assert count == 1 or len(inside(read_yaml(new)[0], path)) == count - 1
            case "insert" if isinstance(inside(root, path), list):
                value = data.draw(VALUES)
                new = insert(text, path, data.draw(st.integers(0, count)), value)
                assert len(inside(read_yaml(new)[0], path)) == count + 1
            case "rename" if isinstance(inside(root, path), dict):
                keys = list(inside(root, path))
                name = data.draw(NAMES.filter(lambda name, keys=keys: name not in keys))
                new = rename_key(text, (*path, keys[0]), name)
                assert list(inside(read_yaml(new)[0], path)) == [name, *keys[1:]]
            case _:
                new = text
        text = new


def any_change(text: str, data: st.DataObject) -> dict[str, Any]:
    """Draw a change that a card could make."""
    cards = outline(text).cards
    card = data.draw(st.sampled_from(cards))
    others = [one.name for one in cards]
    name = data.draw(NAMES.filter(lambda name: name not in others))
    fields = list((card.values.get("output") or {}).get("schema") or {})
    changes: list[dict[str, Any]] = [
        {"do": "set", "operator": card.index, "key": ["prompt"], "value": data.draw(st.one_of(TEXTS, LINES))},
        {"do": "set", "operator": card.index, "key": ["max_tokens"], "value": data.draw(st.none() | st.integers(1, 9))},
        {
            "do": "set",
            "operator": card.index,
            "key": ["gleaning", "num_rounds"],
            "value": data.draw(st.none() | st.just(2)),
        },
        {"do": "set_yaml", "operator": card.index, "key": ["validate"], "value": "[a, {b: c}]"},
        {"do": "rename", "operator": card.index, "name": name},
        {"do": "add", "kind": data.draw(st.sampled_from(["map", "filter", "reduce", "split"])), "after": card.name},
        {"do": "duplicate", "operator": card.index},
        {"do": "move", "name": card.name, "by": data.draw(st.sampled_from([-1, 1]))},
        {"do": "add_field", "operator": card.index, "key": ["output", "schema"], "name": name, "type": "string?"},
    ]
    if len(cards) > 1:
        changes.append({"do": "remove", "operator": card.index})
    if fields:
        field = data.draw(st.sampled_from(fields))
        key = {"operator": card.index, "key": ["output", "schema"]}
        described = data.draw(TEXTS)
        changes += [
            {"do": "set_field", **key, "name": field, "type": "list[string, 3]", "description": described},
            {"do": "rename_field", **key, "name": field, "to": f"{name} x"},
            {"do": "move_field", **key, "from": 0, "to": len(fields) - 1},
        ]
    return data.draw(st.sampled_from(changes))


@settings(max_examples=30, deadline=None)
@given(text=TEMPLATES, data=st.data())
def test_cards_and_yaml_say_the_same_after_any_changes(text: str, data: st.DataObject) -> None:
    for _ in range(4):
        change = any_change(text, data)
        before = outline(text)
        try:
            text = changed(text, change)
        except PipelineError:  # the person is told, and nothing has changed
            continue
        root, after = read_yaml(text)[0], outline(text)
        assert [card.name for card in sorted(after.cards, key=lambda c: c.index)] == [
            o["name"] for o in root["operations"]
        ]
        for card in after.cards:
            written = {k: v for k, v in root["operations"][card.index].items() if k not in ("name", "type")}
            assert card.values == written
        order = list(dict.fromkeys(name for _, name in step_operators(root)))
        assert [card.name for card in after.cards if card.step] == order
        if change["do"] in ("set", "set_yaml", "add_field", "set_field", "rename_field", "move_field"):
            others = [c for c in before.cards if c.index != change["operator"]]
            assert [(c.name, c.values) for c in others] == [
                (c.name, c.values) for c in after.cards if c.index != change["operator"]
            ]
