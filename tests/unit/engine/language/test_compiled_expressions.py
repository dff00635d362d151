"""What an expression is compiled to can reach nothing: no attribute, no import, no name but those that are given."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_one_expression_language import PAIRS

from engine.errors import PipelineError
from engine.language.evaluation import KINDS, Evaluator, compiled
from engine.language.expressions import Expression

REACHING = ("ATTR", "IMPORT", "LOAD_METHOD", "STORE_GLOBAL", "STORE_NAME", "DELETE", "BUILD_CLASS", "YIELD_FROM")
PIECES = """output input .a ['a'] ( ) [ ] { } x if else and not , in is == < + * ** % | lower len( any( sorted( str None
1 'a' : default('') defined __class__ .__class__ lambda: isinstance( .get( .split() map('lower')"""
WORDS = [*PIECES.split(), "for x in"]


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def reached(expression: Expression) -> set[str]:
    """Return the names that the compiled code looks up, and the operations by which it could go further."""
    whole = compiled(expression.tree.body, expression.taken, exact=expression.is_exact)
    operations = {i.opname for code in codes(whole) for i in dis.get_instructions(code)}
    names = {name for code in codes(whole) for name in code.co_names}
    own = {name for name in names if name.startswith(" ") and name in Evaluator()._names}
    return (names - own - set(expression.variables) - set(KINDS)) | {
        operation for operation in operations if any(word in operation for word in REACHING)
    }


@pytest.mark.parametrize("text", PAIRS)
def test_what_users_write_reaches_only_what_is_given(text: str) -> None:
    assert reached(Expression.parse(text.replace("left", "output").replace("right", "input"))) == set()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join))
def test_no_expression_that_is_accepted_reaches_more(text: str) -> None:
    try:
        expression = Expression.parse(text)
    except PipelineError:
        return
    assert reached(expression) == set()


def test_the_names_of_guards_cannot_be_written() -> None:
    guards = set(Evaluator()._names) - {*KINDS, "__builtins__"}
    assert guards
    assert not any(name.isidentifier() for name in guards)
    assert Evaluator()._names["__builtins__"] == {}
