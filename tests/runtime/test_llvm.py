"""IR text to objects: levels, errors, self-containedness, and cost."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tracejit
from tracejit.compiler.codegen import llvm, workers
from tracejit.compiler.codegen.llvm import CodegenError
from tracejit.runtime import objects

FLAGS = '"no-builtins" nounwind'
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tracejit.__file__).resolve().parent.parent)}


def chain(n: int) -> str:
    """A straight line of `n` operations on stack slots."""
    lines = [f"define double @f(double %x) {FLAGS} {{", *(f"%s{i} = alloca double" for i in range(n + 2))]
    lines += ["store double %x, ptr %s0", "store double 0.5, ptr %s1"]
    for i in range(n):
        operation = ("fadd", "fmul", "fsub")[i % 3]
        lines += [f"%a{i} = load double, ptr %s{i}", f"%b{i} = load double, ptr %s{i + 1}"]
        lines += [f"%c{i} = {operation} double %a{i}, %b{i}", f"store double %c{i}, ptr %s{i + 2}"]
    return "\n".join([*lines, f"%r = load double, ptr %s{n + 1}", "ret double %r", "}"])


def evaluate_chain(n: int, x: float) -> float:
    a, b = x, 0.5
    for i in range(n):
        a, b = b, (a + b, a * b, a - b)[i % 3]
    return b


@pytest.mark.parametrize("opt", [0, 1, 2])
def test_levels_agree(opt: int) -> None:
    loaded = objects.load(llvm.compile_text(chain(60), opt=opt))
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("f"))
    assert [function(x) for x in (0.0, 0.25, -0.5)] == [evaluate_chain(60, x) for x in (0.0, 0.25, -0.5)]


def test_stack_slots_are_promoted() -> None:
    for opt in (0, 1, 2):
        assert "alloca" not in llvm.optimized(chain(20), opt=opt)


LOOP = f"""
define double @f(ptr %p, i64 %n) {FLAGS} {{
entry:
  %acc = alloca double
  %i = alloca i64
  store double 0.0, ptr %acc
  store i64 0, ptr %i
  br label %head
head:
  %k = load i64, ptr %i
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %q = getelementptr double, ptr %p, i64 %k
  %x = load double, ptr %q
  %m = sitofp i64 %n to double
  %invariant = fdiv double 1.0, %m
  %y = fmul double %x, %invariant
  %a = load double, ptr %acc
  %b = fadd double %a, %y
  store double %b, ptr %acc
  %k1 = add i64 %k, 1
  store i64 %k1, ptr %i
  br label %head
done:
  %r = load double, ptr %acc
  ret double %r
}}
"""


@pytest.mark.parametrize("opt", [1, 2])
def test_invariants_leave_loops_and_nothing_is_vectorized(opt: int) -> None:
    text = llvm.optimized(LOOP, opt=opt)
    body = text[text.index("\nbody:") :]
    assert "fdiv" in text and "fdiv" not in body
    assert "x double>" not in text


def test_where_invariants_stand_outside_of_loops_less_is_done_for_the_same_results() -> None:
    short = llvm.optimized(LOOP, hoisted=True)
    assert "alloca" not in short and "fdiv" in short[short.index("\nbody:") :]
    x = np.linspace(1.0, 2.0, 5)
    found = []
    for hoisted in (False, True):
        loaded = objects.load(llvm.compile_text(LOOP, hoisted=hoisted))
        entry = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)(loaded.address("f"))
        found.append(entry(x.ctypes.data, x.size))
    assert found == [found[0]] * 2 and found[0] == pytest.approx(1.5)


def test_parse_error_shows_the_line() -> None:
    with pytest.raises(
        CodegenError, match=r"line 3: expected instruction opcode\n(.*\n)*> +3 \|   %y = fadq"
    ):
        llvm.compile_text(
            "define double @f(double %x) {\nentry:\n  %y = fadq double %x, 1.0\n  ret double %y\n}"
        )


def test_invalid_module_does_not_verify() -> None:
    text = "define i32 @f() {\n br label %a\na:\n %x = add i32 %y, 1\n %y = add i32 %x, 1\n ret i32 %x }"
    with pytest.raises(CodegenError, match=r"does not verify(.|\n)*dominate"):
        llvm.compile_text(text)
    assert llvm.compile_text(chain(3))  # the compiler still works


def test_undefined_symbols_are_errors() -> None:
    with pytest.raises(CodegenError, match="does not define: elsewhere"):
        llvm.compile_text(
            "declare i32 @elsewhere()\ndefine i32 @f() { %x = call i32 @elsewhere()\n ret i32 %x }"
        )


def test_unknown_level() -> None:
    with pytest.raises(ValueError, match="opt is one of"):
        llvm.compile_text(chain(1), opt=3)


def test_always_inline_functions_vanish() -> None:
    text = f"""
    define internal double @twice(double %x) alwaysinline {FLAGS} {{
      %y = fadd double %x, %x
      ret double %y
    }}
    define double @f(double %x) {FLAGS} {{
      %y = call double @twice(double %x)
      ret double %y
    }}"""
    for opt in (0, 1, 2):
        assert "call" not in llvm.assembly(text, opt=opt)
    assert "@twice" not in llvm.optimized(text, opt=1)


def test_same_text_same_bytes() -> None:
    assert llvm.compile_text(chain(30)) == llvm.compile_text(chain(30))


def test_threads_compile_at_once() -> None:
    expected, found = llvm.compile_text(chain(30)), []
    threads = [threading.Thread(target=lambda: found.append(llvm.compile_text(chain(30)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.parametrize("opt", [0, 1])
def test_cost_is_linear(opt: int) -> None:
    def seconds(n: int) -> float:
        text, best = chain(n), 1e9
        for _ in range(3):
            start = time.process_time()
            llvm.compile_text(text, opt=opt)
            best = min(best, time.process_time() - start)
        return best

    small, large = seconds(500), seconds(2000)
    assert large < 8 * small  # 4 when linear; the rest is room for a busy machine


INTERRUPTED = """
import signal, sys
from llvmlite.binding import ffi
from tracejit.compiler.codegen import llvm, workers

NUMBER = getattr(signal, sys.argv[1])
TEXT = "define i32 @f() \\"no-builtins\\" nounwind { ret i32 7 }"


class TooLate(Exception):
    pass


def give_up(number, frame):
    raise TooLate


if NUMBER != signal.SIGINT:
    signal.signal(NUMBER, give_up)
before = signal.getsignal(NUMBER)
llvm.compile_text(TEXT)
detach, pressed = ffi.ObjectRef.detach, []


def interrupted(self):  # where an object of LLVM is gone and its owner does not know yet
    if len(pressed) < len(stopped) + 1:
        pressed.append(type(self).__name__)
        signal.raise_signal(NUMBER)
    detach(self)


stopped = []
ffi.ObjectRef.detach = interrupted
for _ in range(20):
    try:
        llvm.compile_text(TEXT)
    except (KeyboardInterrupt, TooLate) as error:
        stopped.append(type(error).__name__)
ffi.ObjectRef.detach = detach
assert len(stopped) == len(pressed) == 20, (stopped, pressed)
assert signal.getsignal(NUMBER) is before
workers.wait_for_all()
assert llvm.compile_text(TEXT)
print(set(stopped))
"""


@pytest.mark.parametrize(
    ("number", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGALRM", "TooLate"), ("SIGUSR1", "TooLate")]
)
def test_what_a_signal_raises_comes_when_llvm_is_done(number: str, raised: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, number], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str({raised})


def test_what_goes_wrong_in_llvm_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ValueError, match="opt is one of"):
        llvm.compile_text("", opt=7)
    with pytest.raises(CodegenError, match="does not parse"):
        llvm.compile_text("define nonsense")
    workers.wait_for_all()
    assert not workers._working


def test_a_process_ends_when_llvm_is_done() -> None:
    program = (
        "import os, threading, time\n"
        "from tracejit.compiler.codegen import workers\n"
        "seen = threading.Event()\n"
        "work = workers.Work(lambda: (seen.wait(), time.sleep(0.5), print('made', flush=True)))\n"
        "work.start()\n"
        "while not workers._working: pass\n"
        "child = os.fork()  # its own end does not wait for a thread that it has not\n"
        "if child: assert os.waitpid(child, 0)[1] == 0; seen.set()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "made\n", "")


def test_programs_that_end_still_compile(cache_dir: Path) -> None:
    """From 3.12 on Python starts no threads at exit, in some versions not even for threads that outlive the program."""
    program = """
import atexit, threading, time
import numpy as np
import tracejit as tf

def compiled(number):
    x, a = np.ones(3), np.ones((300, 300))
    print(float(tf.function(lambda x: tf.reduce_sum(x * number))(x)), float(tf.function(lambda a: (a @ a)[0, 0])(a)))

def outlive():
    time.sleep(0.3)
    compiled(2.0)

atexit.register(compiled, 5.0)
threading.Thread(target=outlive).start()
"""
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": ENVIRONMENT["PYTHONPATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "6.0 300.0\n15.0 300.0\n"), done.stderr
    assert not done.stderr


def test_without_threads_llvm_works_in_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*given: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "_thread", SimpleNamespace(start_new_thread=none, get_ident=threading.get_ident))
    mine = threading.get_ident()
    assert workers.together([threading.get_ident] * 3) == [mine] * 3
    with pytest.raises(ZeroDivisionError):
        workers.together([lambda: 1 // 0])
