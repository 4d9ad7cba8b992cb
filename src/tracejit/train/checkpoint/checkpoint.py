"""Checkpoint: the Variables of objects, by the paths at which they are found, to a file and back.

A path is made of attribute names, keys and positions (``model/layers/0/kernel``), so a program that builds the
same objects finds its values again. Values whose Variable does not exist yet wait for it in the Module it will
belong to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tf

from ...errors import at_user_line
from . import index, store

_MANY = 20  # lines of an error that lists what does not fit


class MismatchedCheckpoint(tf.TracejitError, ValueError):
    """What a file holds does not fit the program's Variables.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tf.train.Checkpoint(x=tf.Variable(1.0)).save(f"{folder}/ckpt")
    ...     try:
    ...         tf.train.Checkpoint(x=tf.Variable([1.0, 2.0])).restore(path)
    ...     except tf.train.MismatchedCheckpoint as error:
    ...         print(isinstance(error, ValueError))
    True
    """


class Checkpoint(tf.Module):
    """Objects whose Variables are saved together.

    Parameters
    ----------
    root : Module or nest, optional
    **objects : Module, Variable, optimizer, random generator or nest of them
        Their names are the beginnings of paths, and attributes of the checkpoint. Those that every Module has already,
        such as ``variables``, name paths alone.

    Attributes
    ----------
    save_counter : tf.Variable
        How often it was saved; itself part of the file.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> step = tf.Variable(1)
    >>> checkpoint = tf.train.Checkpoint(step=step)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = checkpoint.save(folder + "/ckpt")
    ...     _ = step.assign(7)
    ...     _ = checkpoint.restore(path).assert_consumed()
    >>> path.removeprefix(folder), int(step)
    ('/ckpt-1', 1)
    """

    def __init__(self, root: Any = None, **objects: Any):
        super().__init__()
        if root is not None:
            objects = {"root": root, **objects}
        for name, value in objects.items():
            nested = value is None or tf.nest.is_nested(value)
            if (
                not isinstance(value, (tf.Variable, tf.Module))
                and not nested
                and not tf.Module.parts_of(value)
            ):
                raise TypeError(
                    f"{name}={value!r} cannot be saved: pass Variables, Modules, optimizers, or lists and dicts "
                    f"of them{at_user_line()}"
                )
            self._keep(name, value)

    def _keep(self, name: str, value: Any) -> None:
        """Keep an object under a name, which may be that of a property: asked for, it is still what Modules say."""
        known = getattr(type(self), name, None)
        if isinstance(known, property):
            self.__dict__[name] = value
        elif known is not None:
            raise ValueError(
                f"{name} is a method of a Checkpoint: give {value!r} another name{at_user_line()}"
            )
        else:
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Make the counter when it is first asked for: a Checkpoint that is part of another one needs none."""
        if name != "save_counter":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with tf.init_scope():
            self.save_counter: tf.Variable = tf.Variable(np.int64(0), trainable=False, name="save_counter")
        return self.save_counter

    # ---- saving -----------------------------------------------------------------------------------------

    def save(self, file_prefix: str | os.PathLike[str]) -> str:
        """Write the next numbered file, and note it as the latest of its folder.

        Parameters
        ----------
        file_prefix : path
            ``folder/ckpt`` gives ``folder/ckpt-1``, ``folder/ckpt-2`` …

        Returns
        -------
        str
            The path with its number, for :meth:`restore`.
        """
        before = int(self.save_counter.array)
        self.save_counter.assign(before + 1)
        try:
            path = self.write(f"{os.fspath(file_prefix)}-{before + 1}")
        except BaseException:
            self.save_counter.assign(before)
            raise
        folder, name = Path(path).parent, Path(path).name
        index.note(folder, [*(n for n in index.noted(folder) if n != name), name])
        return path

    def write(self, file_prefix: str | os.PathLike[str]) -> str:
        """Write to exactly the path `file_prefix` (an extension is added), without a number. Returns it."""
        path = os.fspath(file_prefix)
        file = index.file_of(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, np.ndarray] = {}
        first: dict[int, str] = {}
        others = {}
        for name, variable in self._variables().items():
            if id(variable) in first:
                others[name] = first[id(variable)]
            else:
                first[id(variable)] = name
                arrays[name] = variable.array
        store.write(file, arrays, {"format": "tracejit-checkpoint-1", "also": json.dumps(others)})
        return path

    def _variables(self) -> dict[str, tf.Variable]:
        """Every Variable by its path, which is its alone."""
        variables: dict[str, tf.Variable] = {}
        for path, v in paths_of(self):
            if isinstance(v, tf.Variable) and variables.setdefault(path, v) is not v:
                raise ValueError(
                    f"a checkpoint has one value for {path!r}, and two Variables are found there: keys such as 1 and "
                    f'"1" are the same in a file, give one of them another name{at_user_line()}'
                )
        return variables

    # ---- restoring --------------------------------------------------------------------------------------

    def restore(self, save_path: str | os.PathLike[str] | None) -> Restored:
        """Give Variables the values in a file.

        Parameters
        ----------
        save_path : path or None
            As :meth:`save` returned it. None does nothing: there is no checkpoint yet.

        Returns
        -------
        Restored
            Tells what was found; ``assert_consumed()`` insists on everything.

        Raises
        ------
        FileNotFoundError
            When there is no such file.
        DamagedCheckpoint
            When its content has changed since it was written.
        MismatchedCheckpoint
            When shapes or dtypes differ: all of them are listed, and nothing is changed.
        """
        if save_path is None:
            return Restored(self, None, frozenset())
        path = os.fspath(save_path)
        try:
            arrays, metadata = store.read(index.file_of(path))
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no checkpoint {path}{at_user_line()}") from None
        known = {**arrays, **_others(path, arrays, metadata)}
        self._count_again(known)
        _check(path, known, self._variables())
        self._hand_over(dict(known))
        return Restored(self, path, frozenset(known))

    read = restore

    def _count_again(self, known: Mapping[str, Any]) -> None:
        """Make the counters that the file has values for."""
        for name, value in [("", self), *((f"{path}/", part) for path, part in paths_of(self))]:
            if isinstance(value, Checkpoint) and f"{name}save_counter" in known:
                value.save_counter.read_value()

    def _hand_over(self, values: dict[str, np.ndarray]) -> None:
        """Give values to Variables, and leave others to the Modules in which theirs will be made."""
        for _, value in paths_of(self):
            if isinstance(value, tf.Module):
                value.defer({})
        self.defer(values)


def _others(
    path: str, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> dict[str, np.ndarray]:
    """The values of Variables that are found at several paths, by those that the file does not hold them under."""
    try:
        also = json.loads(metadata.get("also", "{}"))
        return {name: arrays[first] for name, first in also.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise store.DamagedCheckpoint(f"{path} is damaged: it does not say what it holds") from error


def paths_of(root: Any) -> Iterator[tuple[str, Any]]:
    """Everything that is found from an object, with its path; not again what contains itself."""

    def walk(value: Any, path: str, around: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
        for name, child in tf.Module.parts_of(value):
            if id(child) not in around:
                where = f"{path}/{name}" if path else name
                yield where, child
                yield from walk(child, where, (*around, id(child)))

    return walk(root, "", (id(root),))


def _check(path: str, known: Mapping[str, np.ndarray], variables: Mapping[str, tf.Variable]) -> None:
    """Raise with everything that does not fit."""
    wrong = [
        f"{name}: the file has {_text(known[name])}, the program {v.spec}"
        for name, v in variables.items()
        if name in known and (known[name].shape != v.spec.shape or known[name].dtype != v.spec.dtype)
    ]
    if wrong:
        raise MismatchedCheckpoint(_listed(f"{path} does not fit", [*wrong, *_unmatched(known, variables)]))


def _unmatched(known: Any, variables: Mapping[str, Any]) -> list[str]:
    return [
        *(f"{name}: only in the file" for name in sorted(set(known) - set(variables))),
        *(f"{name}: only in the program" for name in sorted(set(variables) - set(known))),
    ]


def _text(array: np.ndarray) -> str:
    return f"{array.dtype.name}[{','.join(map(str, array.shape))}]"


def _listed(what: str, lines: list[str]) -> str:
    shown = lines[:_MANY] + ([f"and {len(lines) - _MANY} more"] if len(lines) > _MANY else [])
    return "\n  ".join([f"{what}:", *shown]) + at_user_line()


class Restored:
    """What came of restoring `checkpoint` from `path`, which has `names`; made by :meth:`Checkpoint.restore`.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tf
    >>> x = tf.Variable(1.0)
    >>> checkpoint = tf.train.Checkpoint(x=x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = checkpoint.save(f"{folder}/ckpt")
    ...     restored = checkpoint.restore(path)
    >>> type(restored.assert_consumed()).__name__
    'Restored'
    """

    def __init__(self, checkpoint: Checkpoint, path: str | None, names: frozenset[str]):
        self._checkpoint = checkpoint
        self._path = path
        self._names = names

    def _problems(self) -> list[str]:
        return _unmatched(self._names, self._checkpoint._variables())

    def _assert(self, problems: list[str]) -> Restored:
        if self._path is None:
            raise AssertionError(f"no checkpoint was given, so nothing was restored{at_user_line()}")
        if problems:
            raise AssertionError(_listed(f"{self._path} and the program differ", problems))
        return self

    def assert_consumed(self) -> Restored:
        """AssertionError, with every name, unless file and program hold the same Variables by now."""
        return self._assert(self._problems())

    def assert_existing_objects_matched(self) -> Restored:
        """AssertionError, with every name, unless the file has a value for every Variable there is by now."""
        return self._assert([p for p in self._problems() if p.endswith("program")])

    def expect_partial(self) -> Restored:
        """Say that not everything is meant to be restored. Nothing is ever reported unasked."""
        return self
