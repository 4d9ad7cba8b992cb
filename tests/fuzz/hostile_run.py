"""Many hostile files, read and used in a process of its own: what comes of each is a line of what it prints.

``python -m fuzz.hostile_run models 0 2000`` reads the changed saved models with these seeds. Every attempt of the
process to write, delete, connect or start anything outside of its folder is told as an outrage, as is every exception
that is not ours. Knows nothing of what is right: a changed number may well make another good model.
"""

from __future__ import annotations

import collections
import contextlib
import io
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tf
from fuzz.hostile import hostile
from tracejit.core.errors import TracejitError
from tracejit.core.settings import configure
from tracejit.runtime import hostcall
from tracejit.saved_model import saving as saved_model

PATIENCE = 10.0  # seconds after which Ctrl-C is pressed
MEMORY = 6 << 30
REACHING = (
    "os.remove",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "os.chmod",
)
STARTING = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "socket.connect",
    "pickle.find_class",
)


class Net(tf.Module):
    """Layers, tables, loops over rows of unknown number, and state."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(np.eye(3, dtype="float32") + 0.25)
        self.count = tf.Variable(0, trainable=False)
        self.parts = {"a": [tf.Variable(1.0)], 1: tf.Variable([2.0, 3.0])}
        self.table = tf.constant(np.arange(6.0, dtype="float32").reshape(2, 3))

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def __call__(self, x: Any) -> Any:
        self.count.assign_add(1)
        for i in tf.range(2):
            x = tf.tanh(x @ self.w) + self.table[i]
        return {"y": x, "n": (tf.reduce_sum(x, axis=0), [tf.shape(x)[0]])}

    @tf.function
    def chosen(self, x: Any, k: Any, n: int = 2) -> Any:
        if k > 0:
            x = tf.gather(x, tf.cast(k, tf.int64)) * 2.0 + tf.zeros_like(x)
        else:
            x = tf.concat([x[1:], x[:1]], axis=0)
        return tf.sort(x) ** n

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def joined(self, x: Any, y: Any) -> Any:
        return tf.reshape(tf.concat([x, y], axis=0), [-1, 1]) + tf.reverse(x, axis=[0])

    @tf.function
    def collatz(self, n: Any) -> Any:
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps = steps + 1
        return steps

    @tf.function
    def solved(self, a: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.reduce_sum(tf.linalg.solve(a, a[:, :1]) * tf.linalg.cholesky(a @ tf.transpose(a))[0, 0])
        return tape.gradient(y, a), tf.scatter_nd([[1], [0]], a[:2], [4, 3])


X, A = np.linspace(-1, 1, 12, dtype="float32"), np.eye(3, dtype="float32") * 2.0
CALLS: dict[str, list[tuple]] = {
    "__call__": [(X.reshape(4, 3),), (X[:3].reshape(1, 3),)],
    "chosen": [(X, np.int32(3)), (X, np.int32(-1))],
    "joined": [(X, X[:3]), (X[:0], X[:1])],
    "collatz": [(7,)],
    "solved": [(A,)],
}


def saved(folder: Path) -> Path:
    """A good model, with everything called."""
    net = Net()
    for name, calls in CALLS.items():
        for call in calls if name != "joined" else []:
            getattr(net, name)(*call)
    net.collatz(tf.constant(7))
    return Path(saved_model.save(net, folder))


def use_model(file: Path) -> None:
    """Read a model and call all of it, as it was called before; its derivatives too."""
    loaded = tf.saved_model.load(file.parent)
    loaded.variables  # noqa: B018
    for name, calls in CALLS.items():
        f = loaded.__dict__.get(name)
        for call in calls:
            with contextlib.suppress(TracejitError, FloatingPointError):
                f(*[tf.constant(a) for a in call])
    with contextlib.suppress(TracejitError, TypeError), tf.GradientTape() as tape:
        y = loaded(X.reshape(4, 3))
        tape.gradient(y, loaded.trainable_variables)


def checkpointed(folder: Path) -> Path:
    """A good checkpoint of a manager."""
    return Path(manager_of(folder).save() + ".safetensors")


def manager_of(folder: Path) -> Any:
    net = Net()
    net.again = net.w
    return tf.train.CheckpointManager(tf.train.Checkpoint(net=net), folder, max_to_keep=1)


def use_checkpoint(file: Path) -> None:
    """Restore, then save twice, which deletes what the index says is old."""
    manager = manager_of(file.parent)
    with contextlib.suppress(TracejitError):
        manager.checkpoint.restore(file)
    with contextlib.suppress(TracejitError):
        manager.restore_or_initialize()
    with contextlib.suppress(TracejitError):
        tf.train.list_variables(str(file))
    manager.save()
    manager.save()


KINDS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], None]]] = {
    "models": (saved, use_model),
    "checkpoints": (checkpointed, use_checkpoint),
}


class Watch:
    """Notes what the process does to the world outside of a folder while it is on."""

    def __init__(self, folder: Path):
        self.folder = os.path.realpath(folder)
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, args: tuple) -> None:
        if not self.on:
            return
        if event in STARTING:
            self.seen.append(event)
        elif event in REACHING and not all(
            self.is_inside(a) for a in args if isinstance(a, (str, bytes, os.PathLike))
        ):
            self.seen.append(f"{event} {args}")
        elif event == "open" and isinstance(args[0], (str, bytes)) and args[2] & (os.O_WRONLY | os.O_RDWR):
            if not self.is_inside(args[0]):
                self.seen.append(f"open {args}")

    def is_inside(self, path: Any) -> bool:
        parent = os.path.realpath(os.path.dirname(os.fsdecode(path)) or ".")
        return os.path.realpath(path) == self.folder or f"{parent}/".startswith(f"{self.folder}/")


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Press Ctrl-C when it takes too long: a loop in a file may have no end."""
    signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def verdict(use: Callable[[Path], None], file: Path, watch: Watch) -> str:
    """What came of using a file: fine, an error of ours, the end of an endless loop, or an outrage."""
    printed = io.StringIO()
    try:
        with limited(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            watch.on = True
            use(file)
            found = "fine"
    except TracejitError as error:
        found = f"refused {type(error).__name__}"
    except KeyboardInterrupt:
        found = "endless"
    except Exception as error:
        frames = [f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in _frames(error)]
        found = f"OUTRAGE {type(error).__name__}: {str(error)[:150]!r} {frames[-4:]}"
    finally:
        watch.on = False
    if watch.seen or printed.getvalue():
        found = f"OUTRAGE {watch.seen} {printed.getvalue()[:100]!r}"
        watch.seen.clear()
    return found


def _frames(error: BaseException) -> list[Any]:
    import traceback

    return list(traceback.extract_tb(error.__traceback__))


def run(kind: str, first: int, last: int) -> collections.Counter[str]:
    """Use the files with these seeds, a line for each outrage, and count what came of them."""
    configure(cache=False)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background processes begin without it
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    hostcall.host_entry = _forbidden
    make, use = KINDS[kind]
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "folder")
        os.chdir(root)
        outside = Path(root, "outside.safetensors")
        outside.write_bytes(b"precious")
        file = make(folder)
        image, index = file.read_bytes(), folder / "checkpoint"
        noted = index.read_bytes() if index.exists() else b""
        use(file)
        watch = Watch(folder)
        for seed in range(first, last):
            for path in folder.iterdir():
                path.unlink()
            how = hostile(image, file, seed)
            if noted:
                index.write_bytes(_index(noted, seed))
            print("seed", seed, how, flush=True)
            found = verdict(use, file, watch)
            if outside.read_bytes() != b"precious" or sorted(os.listdir(root)) != [
                "folder",
                "outside.safetensors",
            ]:
                found = "OUTRAGE a file outside was touched"
            counts[found if found.startswith("OUTRAGE") else f"{how}: {found}"] += 1
            if found.startswith("OUTRAGE"):
                print(seed, how, found, flush=True)
    return counts


def _forbidden(*args: Any) -> Any:
    raise AssertionError("a file calls a function of this process")


def _index(noted: bytes, seed: int) -> bytes:
    """The index of the folder, changed as well, often so that it names the file outside."""
    return noted.replace(b"ckpt-1", b"../outside") if seed % 3 == 0 else noted[: seed % (2 * len(noted))]


if __name__ == "__main__":
    for found, number in sorted(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])).items()):
        print(f"{number:6} {found}")
