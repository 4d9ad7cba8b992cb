"""Checkpoints: exact, safe against damage and death, matched by path, waiting for Variables made later."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.train import Checkpoint, CheckpointManager, DamagedCheckpoint, MismatchedCheckpoint
from tracejit.train.checkpoint import index, store

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


def network():
    return tf.Sequential([tf.layers.Dense(3, "tanh"), tf.layers.BatchNormalization(), tf.layers.Dense(1)])


class Program:
    """A network in training."""

    def __init__(self):
        self.model, self.optimizer = network(), tf.optimizers.Adam(0.05)
        self.epoch = tf.Variable(0, trainable=False)
        self.noise = tf.random.Generator(4)

    def checkpoint(self):
        return Checkpoint(model=self.model, optimizer=self.optimizer, epoch=self.epoch, noise=self.noise)

    def train(self):
        x = self.noise.normal((8, 2))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x, training=True) - 1.0) ** 2)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.epoch.assign_add(1)
        return loss.item()


# ---- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_come_back_bit_by_bit(dtype, tmp_path):
    random = np.random.default_rng(0)
    whole = np.frombuffer(random.bytes(24 * 16), np.uint8)
    values = (whole % 2).astype(bool) if dtype == "bool" else whole.view(dtype)
    variables = {
        "a": tf.Variable(values),
        "b": tf.Variable(values[:6].reshape(2, 3)),
        "c": tf.Variable(values[0]),
    }
    variables["empty"] = tf.Variable(values[:0].reshape(0, 3))
    path = Checkpoint(v=variables).save(tmp_path / "ckpt")
    fresh = {k: tf.Variable(np.zeros_like(v.numpy())) for k, v in variables.items()}
    Checkpoint(v=fresh).restore(path).assert_consumed()
    for key, v in variables.items():
        assert fresh[key].numpy().tobytes() == v.numpy().tobytes() and fresh[key].shape == v.shape


def test_training_goes_on_as_if_it_had_not_stopped(tmp_path):
    first = Program()
    for _ in range(3):
        first.train()
    path = first.checkpoint().save(tmp_path / "ckpt")
    expected = [first.train() for _ in range(3)]
    second = Program()
    second.train()  # makes its Variables, which then get their values
    second.checkpoint().restore(path).assert_consumed()
    assert second.epoch.numpy() == 3 and second.optimizer.iterations.numpy() == 3
    assert [second.train() for _ in range(3)] == expected


def test_values_wait_for_variables_made_later(tmp_path):
    first = Program()
    for _ in range(3):
        first.train()
    path = first.checkpoint().save(tmp_path / "ckpt")
    expected = [first.train() for _ in range(3)]
    second = Program()
    status = second.checkpoint().restore(path)
    with pytest.raises(AssertionError, match="model/layers/0/kernel: only in the file"):
        status.assert_consumed()
    status.assert_existing_objects_matched()
    assert [second.train() for _ in range(3)] == expected
    status.assert_consumed()


def test_values_wait_for_variables_made_inside_of_a_trace(tmp_path):
    tf.random.set_seed(1)
    first, x = network(), np.ones((2, 2), "float32")
    expected = first(x).numpy()
    path = Checkpoint(model=first).save(tmp_path / "ckpt")
    second = network()
    status = Checkpoint(model=second).restore(path)
    compiled = tf.function(second)
    np.testing.assert_allclose(compiled(x).numpy(), expected, rtol=1e-6)
    status.assert_consumed()
    second.layers[0].bias.assign_add(np.ones(3))
    assert not np.allclose(compiled(x).numpy(), expected), "restored once, not at each call"


def test_attributes_made_later(tmp_path):
    class Late(tf.Module):
        pass

    first = Late()
    first.parts = {"a/b": tf.Variable(1.0), "list": [tf.Variable(2.0)]}
    first.inner = Late()
    first.inner.v = tf.Variable(3.0)
    path = Checkpoint(object=first).save(tmp_path / "ckpt")
    second = Late()
    status = Checkpoint(object=second).restore(path)
    second.parts = {"a/b": tf.Variable(0.0), "list": [tf.Variable(0.0)]}
    assert second.parts["a/b"].numpy() == 1.0 and second.parts["list"][0].numpy() == 2.0
    inner = Late()
    second.inner = inner
    inner.v = tf.Variable(0.0)
    assert inner.v.numpy() == 3.0
    status.assert_consumed()
    inner.v = tf.Variable(0.0)
    assert inner.v.numpy() == 0.0, "a value is given once"


def test_a_second_restoration_replaces_what_waits(tmp_path):
    def line(value):
        module = tf.Module()
        if value is not None:
            module.v = tf.Variable(value)
        return module

    one, none = (Checkpoint(m=line(v)).save(tmp_path / f"{v}") for v in (1.0, None))
    module = line(None)
    checkpoint = Checkpoint(m=module)
    checkpoint.restore(one)
    checkpoint.restore(none)
    module.v = tf.Variable(5.0)
    assert module.v.numpy() == 5.0


def test_shared_variables_are_kept_once(tmp_path):
    v = tf.Variable(np.arange(1000.0))
    path = Checkpoint(a=v, b=[v, {"c": v}]).save(tmp_path / "ckpt")
    arrays, metadata = store.read(index.file_of(path))
    assert sorted(arrays) == ["a", "save_counter"] and json.loads(metadata["also"]) == {
        "b/0": "a",
        "b/1/c": "a",
    }
    w, u = tf.Variable(np.zeros(1000)), tf.Variable(np.zeros(1000))
    Checkpoint(a=w, b=[u, {"c": w}]).restore(path).assert_consumed()
    assert w.numpy()[-1] == u.numpy()[-1] == 999.0


def test_objects_that_contain_each_other(tmp_path):
    a, b = tf.Module("a"), tf.Module("b")
    a.other, b.other, a.v, b.v = b, a, tf.Variable(1.0), tf.Variable(2.0)
    path = Checkpoint(a=a).save(tmp_path / "ckpt")
    b.v.assign(0.0)
    Checkpoint(a=a).restore(path).assert_consumed()
    assert b.v.numpy() == 2.0


def test_a_root_and_attributes(tmp_path):
    model = tf.Sequential([tf.layers.Dense(1, input_shape=(2,))])
    checkpoint = Checkpoint(model)
    assert checkpoint.root is model and checkpoint.save_counter.numpy() == 0
    path = checkpoint.write(tmp_path / "exactly")
    assert path == str(tmp_path / "exactly") and checkpoint.save_counter.numpy() == 0
    checkpoint.read(path).assert_consumed()
    assert tf.train.latest_checkpoint(tmp_path) is None, "without a number it is not in the row"


# ---- what does not fit ----------------------------------------------------------------------------------


def test_everything_that_does_not_fit_is_told_at_once(tmp_path):
    path = Checkpoint(a=tf.Variable(np.zeros((2, 3))), b=tf.Variable(1.0), c=tf.Variable(1)).save(
        tmp_path / "ckpt"
    )
    a, b, d = tf.Variable(np.ones((3, 2))), tf.Variable(np.float64(7.0)), tf.Variable(1.0)
    with pytest.raises(MismatchedCheckpoint) as caught:
        Checkpoint(a=a, b=b, d=d).restore(path)
    text = str(caught.value)
    assert "a: the file has float64[2,3], the program float64[3,2]" in text
    assert "b: the file has float32[], the program float64[]" in text
    assert "c: only in the file" in text and "d: only in the program" in text and "test_checkpoint.py" in text
    assert a.numpy()[0, 0] == 1.0 and b.numpy() == 7.0, "nothing has changed"


def test_names_that_do_not_match(tmp_path):
    path = Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).save(tmp_path / "ckpt")
    a, c = tf.Variable(0.0), tf.Variable(0.0)
    status = Checkpoint(a=a, c=c).restore(path)
    assert a.numpy() == 1.0 and c.numpy() == 0.0
    with pytest.raises(AssertionError, match="b: only in the file\n  c: only in the program"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="differ:\n  c: only in the program"):
        status.assert_existing_objects_matched()
    assert status.expect_partial() is status


def test_a_late_variable_of_another_shape_is_refused(tmp_path):
    path = Checkpoint(m=tf.Sequential([tf.layers.Dense(3, input_shape=(2,))])).save(tmp_path / "ckpt")
    model = tf.Sequential([tf.layers.Dense(3)])
    Checkpoint(m=model).restore(path)
    with pytest.raises(
        ValueError, match=r"the checkpoint holds float32\[2, 3\] for 'kernel', the Variable made now"
    ):
        model(np.ones((1, 5), "float32"))


def test_no_checkpoint(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    status = checkpoint.restore(tf.train.latest_checkpoint(tmp_path))
    with pytest.raises(AssertionError, match="no checkpoint was given"):
        status.assert_consumed()
    with pytest.raises(FileNotFoundError, match="there is no checkpoint"):
        checkpoint.restore(tmp_path / "ckpt-1")
    with pytest.raises(TypeError, match="x=3 cannot be saved"):
        Checkpoint(x=3)
    assert tf.train.latest_checkpoint(tmp_path / "nowhere") is None


# ---- files ----------------------------------------------------------------------------------------------


def test_damage_is_found_wherever_it_is(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(np.arange(20.0)), w=tf.Variable(3))
    path = checkpoint.save(tmp_path / "ckpt")
    file = index.file_of(path)
    image = file.read_bytes()
    for position in range(len(image)):
        damaged = bytearray(image)
        damaged[position] ^= 1 << position % 8
        file.write_bytes(damaged)
        with pytest.raises(DamagedCheckpoint, match="is damaged, or no checkpoint"):
            checkpoint.restore(path)
    for size in (0, 4, 8, 40, len(image) - 1):
        file.write_bytes(image[:size])
        with pytest.raises(DamagedCheckpoint):
            checkpoint.restore(path)
    file.write_bytes(image + b"\0")
    with pytest.raises(DamagedCheckpoint):
        checkpoint.restore(path)
    file.write_bytes(image)
    checkpoint.restore(path).assert_consumed()


def test_the_format_is_safetensors(tmp_path):
    path = Checkpoint(v=tf.Variable([1.0, 2.0])).save(tmp_path / "ckpt")
    image = Path(path + ".safetensors").read_bytes()
    length = int.from_bytes(image[:8], "little")
    header = json.loads(image[8 : 8 + length])
    assert length % 8 == 0 and header["v"]["dtype"] == "F32" and header["v"]["shape"] == [2]
    start, end = header["v"]["data_offsets"]
    assert np.frombuffer(image[8 + length :][start:end], "<f4").tolist() == [1.0, 2.0]
    assert all(isinstance(v, str) for v in header["__metadata__"].values())


def test_a_failing_write_leaves_what_was_there(tmp_path, monkeypatch):
    v = tf.Variable(1.0)
    checkpoint = Checkpoint(v=v)
    path = checkpoint.write(tmp_path / "same")
    v.assign(2.0)

    def full(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        checkpoint.write(tmp_path / "same")
    with pytest.raises(OSError, match="no space left"):
        checkpoint.save(tmp_path / "ckpt")
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["same.safetensors"]
    assert checkpoint.save_counter.numpy() == 0
    checkpoint.restore(path)
    assert v.numpy() == 1.0


def test_numbers_and_the_latest(tmp_path):
    v = tf.Variable(0)
    checkpoint = Checkpoint(v=v)
    paths = [checkpoint.save(tmp_path / "deep" / "ckpt") for _ in range(11) if v.assign_add(1) is v]
    assert paths[0] == str(tmp_path / "deep" / "ckpt-1") and paths[-1].endswith("ckpt-11")
    assert tf.train.latest_checkpoint(tmp_path / "deep") == paths[-1]
    (tmp_path / "deep" / "checkpoint").unlink()
    assert tf.train.latest_checkpoint(tmp_path / "deep") == paths[-1], "found by number without the index"
    (tmp_path / "deep" / "checkpoint").write_text("model_checkpoint_path: of another library")
    assert tf.train.latest_checkpoint(tmp_path / "deep") == paths[-1]
    fresh = Checkpoint(v=tf.Variable(0))
    fresh.restore(paths[4])
    assert fresh.v.numpy() == 5 and fresh.save(tmp_path / "deep" / "ckpt").endswith("ckpt-6")


# ---- the manager ----------------------------------------------------------------------------------------


def test_the_manager_keeps_the_newest(tmp_path):
    v = tf.Variable(0)
    manager = CheckpointManager(Checkpoint(v=v), tmp_path / "new", max_to_keep=3)
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    for _ in range(5):
        v.assign_add(1)
        path = manager.save()
    assert path == manager.latest_checkpoint == str(tmp_path / "new" / "ckpt-5")
    names = [f"ckpt-{i}" for i in (3, 4, 5)]
    assert [Path(p).name for p in manager.checkpoints] == names
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        *("checkpoint", *(f"{n}.safetensors" for n in names))
    ]
    again = CheckpointManager(Checkpoint(v=tf.Variable(0)), tmp_path / "new", max_to_keep=3)
    assert again.restore_or_initialize() == path and again.checkpoint.v.numpy() == 5
    assert again.save().endswith("ckpt-6") and len(again.checkpoints) == 3


def test_the_manager_with_numbers_of_ones_own(tmp_path):
    step = tf.Variable(100)
    made = []
    manager = CheckpointManager(
        Checkpoint(step=step), tmp_path, None, checkpoint_name="model", init_fn=lambda: made.append(1)
    )
    assert manager.restore_or_initialize() is None and made == [1]
    assert manager.save(checkpoint_number=step).endswith("model-100")
    assert manager.save(checkpoint_number=step).endswith("model-100") and len(manager.checkpoints) == 1
    with pytest.raises(ValueError, match="max_to_keep is positive or None, got 0"):
        CheckpointManager(Checkpoint(step=step), tmp_path, 0)


def test_a_failing_save_of_the_manager_loses_nothing(tmp_path, monkeypatch):
    manager = CheckpointManager(Checkpoint(v=tf.Variable(0)), tmp_path, max_to_keep=1)
    path = manager.save()
    monkeypatch.setattr("os.replace", lambda *args: (_ for _ in ()).throw(OSError("torn away")))
    with pytest.raises(OSError, match="torn away"):
        manager.save()
    monkeypatch.undo()
    assert manager.checkpoints == [path]
    manager.checkpoint.restore(path).assert_consumed()
    assert manager.save().endswith("ckpt-2")


KILLING = """
import os, random, signal, sys, time
import numpy as np
import tracejit as tf

folder, rounds = sys.argv[1], int(sys.argv[2])
names = ("a", "b", "c")

def program():
    return {n: tf.Variable(np.zeros(40_000)) for n in names}

same = os.path.join(folder, "same")

def value_in(path):
    objects = program()
    tf.train.Checkpoint(**objects).restore(path).assert_consumed()
    values = {float(v) for n in names for v in np.unique(objects[n].numpy())}
    assert len(values) == 1, values  # one moment of the program, not parts of several
    return int(values.pop())

def save_for_ever():
    objects = program()
    checkpoint = tf.train.Checkpoint(**objects)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    manager.restore_or_initialize()
    while True:
        for v in objects.values():
            v.assign_add(np.ones(40_000))
        checkpoint.write(same)
        manager.save()
        os.write(written, int(objects["a"].numpy()[0]).to_bytes(8, "little"))

inside, reached = 0, 0
for i in range(rounds):
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        save_for_ever()
    os.close(written)
    saved = int.from_bytes(os.read(read, 8), "little")  # the first save of this child is done
    time.sleep(random.Random(i).uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while chunk := os.read(read, 8):
        saved = int.from_bytes(chunk, "little")
    os.close(read)
    inside += any(n.endswith(".tmp") for n in os.listdir(folder))
    for n in os.listdir(folder):
        if n.endswith(".tmp"):
            os.unlink(os.path.join(folder, n))
    found = value_in(tf.train.latest_checkpoint(folder))
    assert found <= value_in(same) <= found + 1
    assert saved <= found <= saved + 1, (saved, found)
    assert found > reached
    reached = found
print(inside, reached)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_killed_in_the_middle_of_saving_a_hundred_times(tmp_path):
    command = [sys.executable, "-W", "error", "-c", KILLING, str(tmp_path), "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    inside, reached = map(int, done.stdout.split())
    assert reached >= 100
    assert inside >= 20, f"only {inside} kills came while a file was being written"


# ---- as programs for TensorFlow use them -----------------------------------------------------------------


def test_lists_and_dicts_that_are_filled_afterwards(tmp_path):
    saved = tf.train.Checkpoint()
    saved.listed = [tf.Variable(1.0)]
    saved.listed.append(tf.Variable(2.0))
    saved.mapped = {"one": saved.listed[0]}
    saved.mapped["two"] = saved.listed[1]
    path = saved.save(tmp_path / "c")
    restored, one, two = tf.train.Checkpoint(), tf.Variable(0.0), tf.Variable(0.0)
    restored.mapped = {"two": two}
    status = restored.restore(path)
    assert float(two) == 2.0
    restored.listed = []
    restored.listed.append(one)
    assert float(one) == 1.0
    restored.listed.append(tf.Variable(0.0))
    restored.mapped = {}
    with pytest.raises(AssertionError, match="mapped/one: only in the file"):
        status.assert_consumed()


def test_a_checkpoint_as_part_of_another(tmp_path):
    model = tf.Module()
    model.layer = tf.Module()
    model.layer.kernel, model.layer.bias = tf.Variable([1.0]), tf.Variable([2.0])
    path = tf.train.Checkpoint(net=model).save(tmp_path / "c")
    bias = tf.Variable([0.0])
    root = tf.train.Checkpoint(net=tf.train.Checkpoint(layer=tf.train.Checkpoint(bias=bias)))
    root.restore(path).assert_existing_objects_matched()
    assert float(bias[0]) == 2.0 and int(root.save_counter) == 1


def test_what_a_checkpoint_holds(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).save(tmp_path / "c")
    assert tf.train.list_variables(path) == [("save_counter", []), ("v", [2])]
    assert tf.train.list_variables(str(tmp_path)) == tf.train.list_variables(path)
    assert tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [1.0, 2.0]
    with pytest.raises(KeyError, match="holds no 'w', but save_counter, v"):
        tf.train.load_variable(path, "w")


def test_no_checkpoint_before_its_time(tmp_path):
    step = tf.Variable(0)
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step), tmp_path, 5, step_counter=step, checkpoint_interval=3
    )
    saved = []
    for _ in range(7):
        saved.append(manager.save() is not None)
        step.assign_add(1)
    assert saved == [True, False, False, True, False, False, True]
    assert manager.save(check_interval=False) is not None
    with pytest.raises(ValueError, match="needs a step_counter"):
        tf.train.CheckpointManager(tf.train.Checkpoint(), tmp_path, 1, checkpoint_interval=3)


def test_objects_called_as_what_modules_have(tmp_path):
    variables, model = (
        [tf.Variable(1.0), tf.Variable([2.0, 3.0])],
        tf.Sequential([tf.layers.Dense(1, input_shape=(2,))]),
    )
    checkpoint = tf.train.Checkpoint(model=model, variables=variables)
    path = checkpoint.save(tmp_path / "c")
    assert [name for name, _ in tf.train.list_variables(path) if name.startswith("v")] == [
        "variables/0",
        "variables/1",
    ]
    for v in variables:
        v.assign(v * 0.0)
    checkpoint.restore(path).assert_consumed()
    assert float(variables[0]) == 1.0 and variables[1].numpy().tolist() == [2.0, 3.0]
    assert len(checkpoint.variables) == 5
    with pytest.raises(ValueError, match=r"save is a method of a Checkpoint: give .* another name"):
        tf.train.Checkpoint(save=tf.Variable(1.0))
