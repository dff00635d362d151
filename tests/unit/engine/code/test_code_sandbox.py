"""What code of a pipeline can and cannot do, in real processes."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from pathlib import Path

import psutil
import pytest
from cancelling import cancelled_twice

from engine.code.pool import CodePool
from engine.code.process import CodeProcess, try_from_code_process
from engine.code.program import Program
from engine.errors import EnvironmentMissing, ItemError, PipelineError

PROGRAM = Program(operator="x", source="", wants="mapping", timeout_seconds=20, memory_bytes=2**28, workers=2, seed=7)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the wall of Linux")


def body(*lines, first=""):
    return f"{first}\ndef transform(doc):\n" + "\n".join(f"    {line}" for line in lines)


async def call(source, given=None, **changes):
    pool = CodePool()
    try:
        return await pool.call(dataclasses.replace(PROGRAM, source=source, **changes), given or {})
    finally:
        await pool.close()
        assert not pool._processes


async def failure(source, given=None, **changes):
    with pytest.raises(ItemError) as caught:
        await call(source, given, **changes)
    return str(caught.value)


async def test_a_call_gets_its_argument_and_gives_a_dictionary():
    source = body('return {"n": doc["n"] + 1, "t": (1, "é😀"), "u": None, "f": 0.5, "d": {"k": [True]}}')
    assert await call(source, {"n": 1}) == {"n": 2, "t": [1, "é😀"], "u": None, "f": 0.5, "d": {"k": [True]}}


async def test_the_standard_library_is_there():
    source = body(
        "moment = datetime.datetime.strptime('2024-02-03', '%Y-%m-%d').replace(tzinfo=zoneinfo.ZoneInfo('UTC'))",
        "return {'a': re.sub('[0-9]', '', doc['t']), 'b': math.floor(2.5), 'c': moment.isoformat(),",
        "        'd': collections.Counter('aab'), 'e': statistics.median([1, 2, 9]), 'f': string.digits,",
        "        'g': hashlib.sha256(b'').hexdigest()[:8], 'h': list(itertools.chain([1], [2])),",
        "        'i': difflib.get_close_matches('ape', ['apple']), 'j': json.dumps([1]),",
        "        'k': str(decimal.Decimal('1.10'))}",
        first="import re, math, datetime, collections, statistics, string, hashlib, itertools, difflib, json, decimal\n"
        "import zoneinfo",
    )
    assert await call(source, {"t": "a1b2"}) == {
        "a": "ab", "b": 2, "c": "2024-02-03T00:00:00+00:00", "d": {"a": 2, "b": 1}, "e": 2, "f": "0123456789",
        "g": "e3b0c442", "h": [1, 2], "i": ["apple"], "j": "[1]", "k": "1.10",
    }  # fmt: skip


async def test_modules_that_need_libraries_of_the_system_are_there():
    source = body(
        "tree = xml.etree.ElementTree.fromstring('<a><b/></a>')",
        "return {'a': bz2.decompress(bz2.compress(b'x')).decode(), 'tags': [part.tag for part in tree.iter()],",
        "        'b': lzma.decompress(lzma.compress(b'y', preset=0)).decode()}",
        first="import bz2, lzma, xml.etree.ElementTree",
    )
    assert await call(source) == {"a": "x", "tags": ["a", "b"], "b": "y"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("open('/etc/passwd').read()", "no access to files"),
        ("open('written.txt', 'w')", "no access to files"),
        ("os.listdir('/')", "no access to files"),
        ("os.remove('/etc/passwd')", "os.remove is refused"),
        ("os.fork()", "os.fork is refused"),
        ("os.system('true')", "os.system is refused"),
        ("os.execv('/bin/true', ['true'])", "os.exec is refused"),
        ("os.kill(os.getppid(), 9)", "os.kill is refused"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen is refused"),
        ("import socket; socket.socket()", "socket.__new__ is refused"),
        ("import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')", "refused"),
        ("import ctypes", "may not import ctypes"),
        ("__import__('_ctypes')", "may not import _ctypes"),
        ("sys.addaudithook(print); os.listdir('/')", "no access to files"),
        ("sys.stdin.read(); input()", "input is refused"),
        ("import numpy", "No module named 'numpy'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("transform(doc)", "maximum recursion depth exceeded"),
        ("doc['missing']", "KeyError: 'missing'"),
    ],
)
async def test_what_is_refused_or_fails_is_told_with_its_line(line, told):
    error = await failure(body(line, "return {}", first="import os, sys"))
    assert told in error
    assert "(line 3: " in error


async def test_the_line_is_the_innermost_of_the_code_itself_and_prints_are_told():
    source = "import json\ndef helper(x):\n    return json.loads(x)\n" + body(
        "print('seen', doc)", "return helper('{')"
    )
    error = await failure(source, {"a": 1})
    assert "JSONDecodeError" in error
    assert "(line 3: return json.loads(x)); it printed: seen {'a': 1}" in error


async def test_half_a_character_that_is_printed_does_not_hide_the_error():
    error = await failure(body("print('seen \\ud800')", "return 1 / 0"))
    assert "ZeroDivisionError: division by zero" in error
    assert error.endswith("it printed: seen ?")


async def test_prints_are_kept_up_to_a_limit_only():
    error = await failure(body("print('y' * 10**6)", "return 1 / 0"))
    assert "ZeroDivisionError: division by zero" in error
    assert len(error) < 4000


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("[1]", "transform returned a value of type list, not a dictionary"),
        ("None", "transform returned nothing, not a dictionary"),
        ("{'a': {1}}", "result['a'] is of type set, which JSON cannot hold; return sorted(...) or list(...)"),
        ("{'a': [b'x']}", "result['a'][0] is of type bytes"),
        ("{'a': float('nan')}", "result['a'] is nan"),
        ("{'a': float('inf')}", "result['a'] is inf"),
        ("{(1, 2): 3}", "result has a key of type tuple; keys are text"),
        ("{1: 'a', '1': 'b'}", "result has the key '1' twice"),
        ("{'a': 10 ** 5000}", "at most 1024 can be kept"),
        ("{'a': '\\ud800'}", "half a surrogate pair at character 0"),
        ("{'\\udfff': 1}", "half a surrogate pair"),
        ("(lambda a: a.append(a) or {'a': a})([])", "nested deeper than 100 levels, or contains itself"),
        ("{'a': doc.keys()}", "result['a'] is of type dict_keys"),
        ("{'a': lambda: 1}", "result['a'] is of type function"),
    ],
)
async def test_what_json_cannot_hold_is_told_with_its_place(result, told):
    assert told in await failure(body(f"return {result}"))


async def test_a_result_may_be_nested_as_deep_as_is_told():
    deep = await call(body("value = 'x'", "for _ in range(99): value = [value]", "return {'a': value}"))
    assert str(deep) == "{'a': " + "[" * 99 + "'x'" + "]" * 99 + "}"
    too_deep = body("value = 'x'", "for _ in range(100): value = [value]", "return {'a': value}")
    assert "nested deeper than 100 levels" in await failure(too_deep)


async def test_whole_numbers_as_keys_become_text():
    assert await call(body("return {'by_year': {2020: 3}}")) == {"by_year": {"2020": 3}}


async def test_an_async_transform_is_told():
    source = "async def transform(doc):\n    return {}"
    assert "of type coroutine" in await failure(source)


async def test_a_loop_without_an_end_is_ended():
    assert "took too long: more than 0.5 s of work" in await failure(body("while True: pass"), timeout_seconds=0.5)


async def test_waiting_is_ended_too():
    error = await failure(body("time.sleep(60)", first="import time"), timeout_seconds=0.25)
    assert "1 s of waiting" in error


@linux_only
@pytest.mark.parametrize("line", ["x = [0] * 10**11", "x = 'a'\n    while True: x += x", "x = bytearray(2**40)"])
async def test_a_memory_bomb_fails_the_call(line):
    assert "memory" in await failure(body(line, "return {}"))


async def test_memory_that_ends_while_the_answer_is_written_is_told_as_such():
    first = "import json\ndef refuse(*given, **named): raise MemoryError"
    source = body("json.JSONEncoder.iterencode = refuse", "return {}", first=first)
    pool = CodePool()
    try:
        with pytest.raises(ItemError, match="took more than 256 MiB of memory") as caught:
            await pool.call(dataclasses.replace(PROGRAM, source=source), {})
        assert caught.value.advice == "Raise memory_bytes, or keep less at once."
    finally:
        await pool.close()


@pytest.mark.parametrize("code", [0, 3])
async def test_a_process_that_ends_itself_fails_the_call(code):
    assert f"ended itself with code {code}" in await failure(body(f"os._exit({code})", first="import os"))


@linux_only
async def test_a_crash_fails_the_call():
    deep = body("f = lambda x: f(x)", "f(1)", first="import sys; sys.setrecursionlimit(10**9)")
    assert await failure(deep, memory_bytes=2**26)


async def test_writing_to_the_descriptors_of_output_does_no_harm():
    source = body("os.write(1, b'{}\\n'); os.write(2, b'x' * 10**6)", "return {'ok': True}", first="import os")
    assert await call(source) == {"ok": True}


@linux_only
@pytest.mark.parametrize("written", ["hello\\n", '{\\"id\\": 99, \\"value\\": {}}\\n', "[]\\n", "\\xff\\n"])
async def test_writing_into_the_channel_of_answers_is_an_error(written):
    source = body(f'os.write(3, "{written}".encode("latin-1"))', "return {'ok': True}", first="import os")
    assert "wrote into the channel of answers" in await failure(source)


async def test_replaced_functions_of_json_give_an_answer_or_an_error():
    source = body("json.dumps = json.loads = json.JSONDecoder = None", "return {'ok': True}", first="import json")
    assert await call(source) == {"ok": True}
    source = body("json.JSONEncoder.iterencode = lambda *a, **k: '{'", "return {'ok': 1}", first="import json")
    assert "wrote into the channel of answers" in await failure(source)


async def test_a_huge_result_is_refused():
    error = await failure(body("return {'a': 'x' * (65 * 2**20)}"), memory_bytes=2**30)
    assert "larger than 64 MiB" in error


async def test_an_exception_that_cannot_be_described():
    source = body("raise Odd", first="class Odd(Exception):\n    def __str__(self): raise ValueError")
    assert "Odd" in await failure(source)


async def test_an_exception_whose_type_cannot_be_described():
    kind = """class Kind(type):
    def __getattribute__(self, name): return 1 / 0 if name == "__qualname__" else type.__getattribute__(self, name)
class Odd(Exception, metaclass=Kind): pass"""
    error = await failure(body("raise Odd", first=kind))
    assert "Odd (describing it raised ZeroDivisionError)" in error


async def test_the_environment_tells_nothing(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    found = await call(body("return {'env': sorted(os.environ), 'folder': os.getcwd()}", first="import os"))
    assert not {"SECRET_TOKEN", "HOME", "PATH", "USER"} & set(found["env"])
    assert found["folder"] == Path(sys.executable).anchor


async def test_sets_and_chance_are_the_same_in_every_process():
    source = body("return {'s': list(set(doc['w'])), 'r': random.random()}", first="import random")
    words = {"w": ["one", "two", "three", "four", "five", "six"]}
    first, second = await call(source, words), await call(source, words)
    assert first == second


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import numpy\ndef transform(doc): return {}", "its code could not be read: ModuleNotFoundError"),
        ("def transform(doc): return {}\n1 / 0", "ZeroDivisionError: division by zero (line 2: 1 / 0)"),
        ("transform = 3", "defines no function transform"),
        ("import os\nos._exit(4)", "ended itself with code 4"),
        ("def transform(doc: return", "SyntaxError: invalid syntax (line 1: def transform(doc: return)"),
        ("def transform(doc): return {}\nbreak", "SyntaxError: 'break' outside loop (line 2: break)"),
    ],
)
async def test_code_that_cannot_be_read_stops_the_run(source, told):
    with pytest.raises(PipelineError) as caught:
        await call(source)
    assert told in str(caught.value)
    assert caught.value.operator == "x"


async def test_a_process_is_used_again_and_a_broken_one_is_replaced():
    pool = CodePool()
    source = body(
        "if doc.get('die'): os._exit(1)", "seen.append(1)", "return {'n': len(seen), 'pid': os.getpid()}",
        first="import os\nseen = []",
    )  # fmt: skip
    program = dataclasses.replace(PROGRAM, source=source, workers=1)
    try:
        first, second = await pool.call(program, {}), await pool.call(program, {})
        assert (first["n"], second["n"]) == (1, 2)
        assert first["pid"] == second["pid"]
        with pytest.raises(ItemError, match="ended itself"):
            await pool.call(program, {"die": True})
        third = await pool.call(program, {})
        assert third["n"] == 1
        assert third["pid"] != first["pid"]
    finally:
        await pool.close()
    assert not psutil.pid_exists(third["pid"])


async def test_a_call_pays_for_its_own_faults_only():
    """A call after one that replaced something is tried again in a fresh process."""
    pool = CodePool()
    source = body(
        "if doc.get('spoil'): json.JSONEncoder.iterencode = lambda *a, **k: '{'; os.nothing",
        "return {'ok': True}",
        first="import json, os",
    )
    program = dataclasses.replace(PROGRAM, source=source, workers=1)
    try:
        with pytest.raises(ItemError):
            await pool.call(program, {"spoil": True})
        assert await pool.call(program, {}) == {"ok": True}
    finally:
        await pool.close()


async def test_a_cancelled_call_ends_its_process():
    pool = CodePool()
    program = dataclasses.replace(PROGRAM, source=body("while True: pass"), timeout_seconds=600)
    running = asyncio.create_task(pool.call(program, {}))
    while not any(process.calls for process in pool._processes):
        await asyncio.sleep(0.01)
    [process] = pool._processes
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not psutil.pid_exists(process._process.pid)
    await pool.close()


@pytest.mark.parametrize("pause", [0, 0.01, 0.03, 0.06])
async def test_calls_cancelled_twice_while_processes_start_leave_none_behind(pause):
    pool = CodePool()
    before = set(psutil.Process().children())
    program = dataclasses.replace(PROGRAM, source=body("while True: pass"), timeout_seconds=600)
    await cancelled_twice((pool.call(program, {}) for _ in range(4)), pause)
    await pool.close()
    assert set(psutil.Process().children()) <= before


async def test_a_call_cancelled_as_its_process_is_ready_leaves_none_behind(monkeypatch):
    """Closed before the call has heard that it is cancelled, the pool ends its process all the same."""
    pool = CodePool()
    before = set(psutil.Process().children())
    begun = asyncio.Event()
    start = CodeProcess.start

    async def started(program):
        process = await start(program)
        begun.set()
        return process

    monkeypatch.setattr(CodeProcess, "start", started)
    call = asyncio.create_task(pool.call(dataclasses.replace(PROGRAM, source=body("return {}")), {}))
    await begun.wait()
    while pool._ending:  # until the start has ended; the call has not gone on yet
        await asyncio.sleep(0)
    call.cancel()
    await pool.close()
    assert set(psutil.Process().children()) <= before
    await asyncio.gather(call, return_exceptions=True)


async def test_a_call_cancelled_while_its_unreadable_code_is_ended_leaves_no_pipe_open(monkeypatch):
    """Cut short, `close` would leave a transport that complains of itself when the loop is gone."""
    pool = CodePool()
    closing, processes = asyncio.Event(), []
    close = CodeProcess.close

    async def noted(process):
        processes.append(process)
        closing.set()
        await close(process)

    monkeypatch.setattr(CodeProcess, "close", noted)
    call = asyncio.create_task(pool.call(dataclasses.replace(PROGRAM, source="import numpy"), {}))
    await closing.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await pool.close()
    [process] = processes
    assert process._process.returncode is not None
    assert process._process.stdout.at_eof()
    assert process._reading_errors.done()


async def test_no_more_processes_than_workers():
    pool = CodePool()
    source = body("time.sleep(0.05)", "return {'pid': os.getpid()}", first="import os, time")
    program = dataclasses.replace(PROGRAM, source=source, workers=2)
    try:
        found = await asyncio.gather(*(pool.call(program, {}) for _ in range(8)))
        assert len({f["pid"] for f in found}) <= 2
    finally:
        await pool.close()


@linux_only
async def test_the_guards_of_this_machine_are_up():
    pool = CodePool()
    try:
        await pool.call(dataclasses.replace(PROGRAM, source=body("return {}")), {})
        [process] = pool._processes
        assert {"limits", "seccomp", "audit"} <= set(process.guards)
    finally:
        await pool.close()
    assert os.getpid() != process._process.pid


@linux_only
def test_the_kernel_refuses_a_socket_to_the_process(monkeypatch):
    assert try_from_code_process().outcome == "kernel"
    monkeypatch.setattr("engine.code.process._START_SECONDS", 0.001)
    with pytest.raises(EnvironmentMissing, match="did not try in 0.001 s"):
        try_from_code_process()
