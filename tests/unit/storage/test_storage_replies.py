import hashlib

import pytest
from case_counts import count_replies

from storage.case import Case
from storage.errors import BadRecord, NotInCase, StorageError


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_reply_comes_back_with_its_keys_in_order(case: Case, run_id: str) -> None:
    reply = {"value": {"z": 1, "a": [None, True, "é"]}, "text": "x" * 1000, "seconds": 0.25}
    assert case.replies.get(key("1")) is None
    case.replies.save(key("1"), reply, "map", run_id)
    found = case.replies.get(key("1"))
    assert found == reply
    assert list(found["value"]) == ["z", "a"]


def test_the_latest_reply_of_a_key_stands(case: Case, run_id: str) -> None:
    case.replies.save(key("1"), {"value": 1}, "map", run_id)
    case.replies.save(key("1"), {"value": 2}, "map", run_id)
    assert case.replies.get(key("1").upper()) == {"value": 2}
    assert count_replies(case) == 1


def test_calls_are_counted_per_run_and_operator(case: Case, run_id: str) -> None:
    for n, operator in enumerate(["map", "map", "resolve"]):
        case.replies.save(key(str(n)), {"value": n}, operator, run_id)
    case.replies.save(key("loose"), {"value": 0})
    assert case.replies.calls_of_run(run_id) == {"map": 2, "resolve": 1}
    assert count_replies(case) == 4


def test_a_reply_is_refused_where_it_would_not_be_safe(case: Case, run_id: str) -> None:
    with case.transaction(), pytest.raises(StorageError, match="inside a transaction"):
        case.replies.save(key("1"), {"value": 1}, "map", run_id)


def test_a_run_must_exist(case: Case) -> None:
    with pytest.raises(NotInCase, match="no run 99"):
        case.replies.save(key("1"), {}, "map", "99")


@pytest.mark.parametrize("value", [b"", b"\x00\xff" * 300, [1, {"a": None}], "text", 0, False, "\ud800"])
def test_the_cache_keeps_bytes_and_json(case: Case, value: object) -> None:
    case.cache.save("embedding", "k", "older")
    case.cache.save("embedding", "k", value)
    assert case.cache.get("embedding", "k") == value
    assert type(case.cache.get("embedding", "k")) is type(value)
    assert case.cache.get("operator", "k") is None
    assert case.cache.forget("embedding") == 1
    assert case.cache.get("embedding", "k") is None


def test_the_cache_refuses_none(case: Case) -> None:
    with pytest.raises(BadRecord, match="None"):
        case.cache.save("embedding", "k", None)
