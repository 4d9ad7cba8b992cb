"""Python functions called from machine code: values, failures and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from checks.clock import Stopwatch
from tracejit.compiler.codegen import llvm
from tracejit.core.dim import Dim
from tracejit.runtime import abi, objects
from tracejit.runtime.executable import Executable
from tracejit.runtime.hostcall import host_entry
from tracejit.runtime.signature import Signature

F8 = np.dtype("f8")
N = Dim.of("n")
ONE = Signature(((F8, (N, 2)),), ((F8, (N,)), (F8, ())), atoms=(("n", 0, 0),))

# passes everything on to the first function
FORWARD = f"""
define i32 @entry(ptr %buffers, ptr %dims, ptr %ctx) nounwind {{
  %slot = getelementptr i8, ptr %ctx, i64 {abi.offset("functions")}
  %functions = load ptr, ptr %slot
  %f = load ptr, ptr %functions
  %status = call i32 %f(ptr %buffers, ptr %dims, ptr %ctx)
  ret i32 %status
}}
"""

# polls until told to stop; gives up after some seconds so that a broken test ends
SPIN = f"""
define i32 @entry(ptr %buffers, ptr %dims, ptr %ctx) nounwind {{
entry:
  %slot = getelementptr i8, ptr %ctx, i64 {abi.offset("poll")}
  %poll = load ptr, ptr %slot
  %none = icmp eq ptr %poll, null
  br i1 %none, label %done, label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %stop = call i32 %poll(ptr %ctx)
  %next = add i64 %i, 1
  %again = icmp eq i32 %stop, 0
  %few = icmp ult i64 %next, 20000000
  %go = and i1 %again, %few
  br i1 %go, label %head, label %stopped
stopped:
  ret i32 {abi.STATUS_INTERRUPTED}
done:
  ret i32 0
}}
"""


def make(text: str, signature: Signature, **options) -> Executable:
    return Executable(objects.load(llvm.compile_text(text)).address("entry"), signature, **options)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_values_go_through(n: int) -> None:
    forward = make(FORWARD, ONE, functions=[host_entry(lambda x: (x.sum(axis=1), x.size), ONE)])
    x = np.random.default_rng(0).normal(size=(n, 2))
    rows, size = forward([x])
    np.testing.assert_array_equal(rows, x.sum(axis=1))
    assert size[()] == 2 * n


def fails(x: np.ndarray):
    raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (fails, LookupError, "no such thing"),
        (lambda x: (x[0],), ValueError, "1 values for 2"),
        (lambda x: (x, 1.0), ValueError, "value 0 has shape"),
        (lambda x: (x[:, 0] * 1j, 1.0), TypeError, "same_kind"),
        (lambda x: x.fill(0), ValueError, "read-only"),
    ],
)
def test_failures_are_raised_again(function, error: type[Exception], match: str) -> None:
    forward = make(FORWARD, ONE, functions=[host_entry(function, ONE)])
    with pytest.raises(error, match=match):
        forward([np.ones((3, 2))])
    with pytest.raises(error, match=match):
        forward([np.ones((3, 2))])


def test_sizes_must_be_known() -> None:
    with pytest.raises(ValueError, match="known sizes"):
        host_entry(fails, Signature((), (), bound=("trips",)))


def test_nested_executables() -> None:
    inner = make(FORWARD, ONE, functions=[host_entry(lambda x: (x[:, 0], 1.0), ONE)])
    outer = make(FORWARD, ONE, functions=[host_entry(lambda x: inner([x]), ONE)])
    np.testing.assert_array_equal(outer([np.ones((3, 2))])[0], np.ones(3))


def test_interrupt_ends_code_that_polls() -> None:
    spin = make(SPIN, Signature((), ()), polls=True)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    working = Stopwatch()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        spin([])
    timer.join()
    assert working.seconds() < 5
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupt_is_delivered_even_when_the_code_finishes() -> None:
    quick = make("define i32 @entry(ptr %b, ptr %d, ptr %c) { ret i32 0 }", Signature((), ()), polls=True)
    assert quick([]) == []
    forward = make(
        FORWARD,
        ONE,
        functions=[host_entry(lambda x: (os.kill(os.getpid(), signal.SIGINT), (x[:, 0], 1.0))[1], ONE)],
        polls=True,
    )
    with pytest.raises(KeyboardInterrupt):
        forward([np.ones((3, 2))])
        time.sleep(1)


def test_other_threads_do_not_poll() -> None:
    results = []
    spin = make(SPIN, Signature((), ()), polls=True)
    thread = threading.Thread(target=lambda: results.append(spin([])))
    thread.start()
    thread.join(timeout=300)
    assert results == [[]]
