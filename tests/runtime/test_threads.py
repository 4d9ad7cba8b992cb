"""The thread pool: who starts it, who stops it, what happens in between; and that results do not depend on it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler import cache
from tracejit.compiler.codegen.threads import thread_pool
from tracejit.runtime.threads import processors, workers

pytestmark = pytest.mark.skipif(
    not thread_pool.serves(cache.cpu.host().arch), reason="there is no thread pool for this machine"
)
SIZE = 1 << 21


@pytest.fixture(autouse=True)
def settings():
    """Put the number of threads back afterwards."""
    yield
    tf.configure(num_threads=0)


@tf.function
def heavy(x: tf.Tensor) -> tf.Tensor:
    return tf.sin(tf.exp(tf.tanh(x)) + x)


@tf.function
def rows(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(x * 2.0)


@tf.function
def steps(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(5):
        x = x + 0.1 * (tf.roll(x, 1, 0) + tf.roll(x, -1, 0) + tf.roll(x, 1, 1) + tf.roll(x, -1, 1) - 4.0 * x)
    return x


def column_sums(x: tf.Tensor) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.reduce_sum(tf.sin(x), 0) ** 2)
    return [loss, tape.gradient(loss, x)]


def run(code: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr and "ignored" not in done.stderr, done.stderr
    return done.stdout.strip()


PROGRAM = """
    import os, threading, numpy as np
    import tracejit as tf
    f = tf.function(lambda x: tf.sin(tf.exp(tf.tanh(x)) + x))
    x = tf.constant(np.linspace(-1, 1, 1 << 18))
    def names():
        return sorted(t.name for t in threading.enumerate() if t.name.startswith("tracejit-worker"))
    def start(count):  # on a busy machine the pool may pause for a while
        for _ in range(1000):
            f(x)
            if len(names()) == count:
                break
        return len(names())
"""


@pytest.mark.parametrize(
    "f", [heavy, rows, steps, tf.function(column_sums)], ids=["map", "rows", "steps", "columns"]
)
def test_results_are_the_same_for_any_number_of_threads(f) -> None:
    x = tf.constant(np.random.default_rng(0).normal(size=(512, 700)).astype(np.float32))
    found = {}
    for count in (1, 2, 3, 8):
        tf.config.threading.set_intra_op_parallelism_threads(count)
        results = [np.asarray(r) for _ in range(3) for r in tf.nest.flatten(f(x))]
        found[count] = [r.tobytes() for r in results]
    assert found[2] == found[3] == found[8] == found[1]


def test_jobs_are_shared() -> None:
    tf.config.num_threads = 3
    x = tf.constant(np.linspace(-1, 1, SIZE))
    heavy(x)
    pool = workers.running()
    assert pool is not None
    for _ in range(50):  # each call may find the pool paused for a while, on a busy machine
        heavy(x)
    assert pool.state.jobs > 0 and len(pool.threads) >= 2
    assert all(t.daemon and t.name.startswith("tracejit-worker") for t in pool.threads)


def _sites(state) -> list[int]:
    """Where something is known of a body."""
    return [at for at in range(0, len(state.sites), 4) if state.sites[at]]


def test_a_loss_is_believed_only_beside_a_fresh_measurement() -> None:
    """One that sharing seems to make long after a call was measured has the next call measured again."""
    tf.config.num_threads = 2
    x = tf.constant(np.linspace(-1, 1, SIZE))
    heavy(x)
    state = workers.running().state
    unlikely = (
        np.float64(1e-12).view(np.int64).item()
    )  # ns of a ps on one thread, so that all sharing is a loss

    def call(calls: int) -> tuple[int, int]:
        """The account and the calls of the body when one call is reckoned."""
        for _ in range(200):
            for at in range(0, len(state.sites), 4):
                state.sites[at] = 0
            heavy(x)
            (at,) = _sites(state)
            state.sites[at + 1 : at + 4] = [0, calls, unlikely]
            jobs = state.jobs
            heavy(x)
            if state.jobs > jobs and tuple(state.sites[at + 1 : at + 3]) != (0, calls + 1):
                return state.sites[at + 1], state.sites[at + 2]
        raise AssertionError("no call was reckoned")

    assert call(100) == (0, 1)
    lost, calls = call(5)
    assert lost < 0 and calls == 6


def test_what_is_known_of_a_body_is_known_for_its_work() -> None:
    """Products of all sizes are one body, and a long one tells nothing about a short one."""
    tf.config.num_threads = 2
    f = tf.function(lambda x: tf.sin(tf.exp(x)), input_signature=[tf.TensorSpec([None], tf.float64)])
    f(tf.constant(np.linspace(-1, 1, SIZE)))
    state = workers.running().state
    state.sites[:] = [0] * len(state.sites)
    for size in (SIZE, SIZE // 8, SIZE + 100):
        f(tf.constant(np.linspace(-1, 1, size)))
    assert sorted(state.sites[at + 2] for at in _sites(state)) == [1, 2]


def test_bodies_that_meet_in_one_place_keep_their_accounts() -> None:
    """The second one takes the place beside it: accounts that are lost would have every second call measured."""
    tf.config.num_threads = 2
    x = tf.constant(np.linspace(-1, 1, SIZE))
    heavy(x)
    state = workers.running().state
    state.sites[:] = [0] * len(state.sites)
    heavy(x)
    (at,) = _sites(state)
    state.sites[at : at + 4] = [1, 2, 3, 0]
    for _ in range(3):
        heavy(x)
    assert state.sites[at : at + 3] == [1, 2, 3]
    assert [other for other in _sites(state) if other != at] == [at ^ 4]
    assert state.sites[(at ^ 4) + 2] == 3


def test_one_thread_starts_none() -> None:
    code = PROGRAM + "\n    f(x); f(x); print(names(), tf.config.num_threads)"
    assert run(code, TRACEJIT_NUM_THREADS="1") == "[] 1"


def test_small_work_starts_none() -> None:
    code = PROGRAM + "\n    f(x[:100]); f(x[:100]); print(names())"
    assert run(code, TRACEJIT_NUM_THREADS="4") == "[]"


def test_the_number_can_change() -> None:
    code = (
        PROGRAM
        + """
    print(start(2), end=" ")
    tf.config.num_threads = 5
    print(start(4), end=" ")
    tf.config.num_threads = 1
    f(x); print(len(names()))
    """
    )
    assert run(code, TRACEJIT_NUM_THREADS="3") == "2 4 4"


def test_the_default_is_the_processors_of_the_process() -> None:
    tf.configure(num_threads=0)
    assert workers.wanted() == processors.processors() <= len(os.sched_getaffinity(0))
    code = (
        "\n    import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
        + PROGRAM
        + "\n    f(x); print(names())"
    )
    assert run(code, TRACEJIT_NUM_THREADS="0") == "[]"


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "250000 100000\n"}, [3]),
        ("0::/\n", {"cpu.max": "max 100000\n"}, []),
        ("0::/\n", {"cpu.max": "1000 100000\n"}, [1]),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "900000 100000\n"}, [9, 2]),
        ("0::/outside/c\n", {"cpu.max": "400000 100000\n"}, [4]),
        ("0::/../up\n", {"cpu.max": "400000 100000\n"}, [4]),
        ("0::/\n", {"cpu.max": "nonsense\n"}, []),
        (
            "4:memory:/m\n3:cpu,cpuacct:/d\n",
            {"cpu,cpuacct/d/cpu.cfs_quota_us": "150000\n", "cpu,cpuacct/d/cpu.cfs_period_us": "50000\n"},
            [3],
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, []),
        ("", {}, []),
    ],
)
def test_control_groups_limit_the_processors(tmp_path, membership, files, expected) -> None:
    groups, own = tmp_path / "groups", tmp_path / "membership"
    own.write_text(membership)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    assert list(processors.quotas(str(groups), str(own))) == expected


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="'num_threads' is 0 or a number of threads, got -1"):
        tf.config.num_threads = -1
    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.threading.set_intra_op_parallelism_threads(2)
    assert tf.config.threading.get_intra_op_parallelism_threads() == tf.config.num_threads == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_has_a_pool_of_its_own() -> None:
    code = (
        PROGRAM
        + """
    expected = np.asarray(f(x)).tobytes()
    for round in range(3):
        child = os.fork()
        if not child:
            assert not names()
            ok = all(np.asarray(f(x)).tobytes() == expected for _ in range(3))
            os._exit(0 if ok and start(2) == 2 else 1)
        ok = np.asarray(f(x)).tobytes() == expected
        print(os.waitpid(child, 0)[1], ok, start(2), end=" ")
    """
    )
    assert run(code, TRACEJIT_NUM_THREADS="3") == "0 True 2 0 True 2 0 True 2"


def test_a_fork_while_others_compute() -> None:
    code = (
        PROGRAM
        + """
    expected, over = np.asarray(f(x)).tobytes(), threading.Event()
    wrong = []
    def compute():
        while not over.is_set():
            if np.asarray(f(x)).tobytes() != expected:
                wrong.append(1)
    threads = [threading.Thread(target=compute) for _ in range(3)]
    for t in threads: t.start()
    statuses = []
    for _ in range(5):
        child = os.fork()
        if not child:
            os._exit(0 if np.asarray(f(x)).tobytes() == expected else 1)
        statuses.append(os.waitpid(child, 0)[1])
    over.set()
    for t in threads: t.join()
    print(statuses, wrong)
    """
    )
    assert run(code, TRACEJIT_NUM_THREADS="3", PYTHONWARNINGS="ignore") == "[0, 0, 0, 0, 0] []"


def test_an_interrupted_start_or_stop_is_made_up_for() -> None:
    code = (
        PROGRAM
        + """
    import time
    from tracejit.runtime.threads import workers
    plain, left = threading.Thread.start, [3]
    def interrupted(thread):  # before, while and after the thread begins
        worker = thread.name.startswith("tracejit-worker")
        left[0] -= worker
        if not worker or left[0] != 2:
            plain(thread)
        if worker:
            raise KeyboardInterrupt
    threading.Thread.start = interrupted
    for _ in range(3):
        try:
            f(x)
            time.sleep(1)
        except KeyboardInterrupt:
            print("interrupted", end=" ")
    threading.Thread.start = plain
    pool = workers.running()
    print(start(4), pool.state.workers, len(pool.threads), end=" ")
    join = threading.Thread.join
    def fails(thread):
        threading.Thread.join = join
        raise KeyboardInterrupt
    threading.Thread.join = fails
    try:
        pool.stop()
    except KeyboardInterrupt:
        pass
    pool.decide()
    print(start(4), pool.state.workers, end=" ")
    pool.stop()
    print(len(names()), pool.state.workers, pool.state.stop)
    """
    )
    assert run(code, TRACEJIT_NUM_THREADS="5") == "interrupted interrupted interrupted 4 4 4 4 4 0 0 0"


def test_a_fork_while_others_start_workers() -> None:
    code = (
        PROGRAM
        + """
    from tracejit.runtime.threads import workers
    expected = np.asarray(f(x)).tobytes()
    pool, over = workers.running(), threading.Event()
    def change():
        while not over.is_set():
            pool.stop(); pool.decide(); f(x)
    threads = [threading.Thread(target=change) for _ in range(2)]
    for t in threads: t.start()
    statuses = []
    for _ in range(10):
        child = os.fork()
        if not child:
            os._exit(0 if not names() and np.asarray(f(x)).tobytes() == expected else 1)
        statuses.append(os.waitpid(child, 0)[1])
    over.set()
    for t in threads: t.join()
    pool.decide()
    print(sum(statuses), start(2), pool.state.workers)
    """
    )
    assert run(code, TRACEJIT_NUM_THREADS="3", PYTHONWARNINGS="ignore") == "0 2 2"


def test_eight_python_threads_and_nested_calls() -> None:
    tf.config.num_threads = 3
    x = tf.constant(np.linspace(-1, 1, 200_000))
    expected, wrong = np.asarray(heavy(x)).tobytes(), []

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return heavy(x)

    def compute(f) -> None:
        for _ in range(20):
            if np.asarray(f(x)).tobytes() != expected:
                wrong.append(f)

    threads = [threading.Thread(target=compute, args=(f,)) for f in (heavy, outer) * 4]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "os._exit(0)", "os.kill(os.getpid(), 0)"])
def test_the_process_ends_with_a_live_pool(end: str) -> None:
    code = PROGRAM + f"\n    f(x); print(len(names()), flush=True)\n    {end}"
    assert run(code, TRACEJIT_NUM_THREADS="4") == "3"


def test_the_process_ends_while_a_thread_computes() -> None:
    code = (
        PROGRAM
        + """
    def compute():
        while True: f(x)
    f(x)
    for _ in range(2): threading.Thread(target=compute, daemon=True).start()
    import atexit; atexit.register(lambda: f(x))
    print("end", flush=True)
    """
    )
    assert run(code, TRACEJIT_NUM_THREADS="3") == "end"
