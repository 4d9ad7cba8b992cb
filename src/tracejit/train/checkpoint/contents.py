"""What a checkpoint holds, by name, without a program that has its Variables."""

from __future__ import annotations

import os

import numpy as np

from ...errors import at_user_line
from . import index, store

_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"  # how names end elsewhere


def _arrays(ckpt_dir_or_file: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        path = index.latest_checkpoint(path) or path
    try:
        return store.read(index.file_of(path))[0]
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no checkpoint {path}{at_user_line()}") from None


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Name and shape of everything in the checkpoint `ckpt_dir_or_file`; of a folder, in its latest one.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.train.list_variables(tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(folder + "/c"))
    [('v', [2])]
    """
    return [(name, list(array.shape)) for name, array in sorted(_arrays(ckpt_dir_or_file).items())]


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> np.ndarray:
    """One array of the checkpoint `ckpt_dir_or_file` by its `name`; KeyError where there is none of this name.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.train.load_variable(tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(folder + "/c"), "v")
    array([1., 2.], dtype=float32)
    """
    arrays = _arrays(ckpt_dir_or_file)
    array = arrays.get(name.removesuffix(_ENDING))
    if array is None:
        known = ", ".join(sorted(arrays))
        raise KeyError(f"{os.fspath(ckpt_dir_or_file)} holds no {name!r}, but {known}")
    return array


class CheckpointReader:
    """What a checkpoint holds, read once: shapes, dtypes and values by name.

    Parameters
    ----------
    ckpt_dir_or_file : path
        A checkpoint, or a folder: its latest one.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tf.train.Checkpoint(x=tf.Variable([1.0, 2.0])).save(f"{folder}/ckpt")
    ...     print(tf.train.load_checkpoint(folder).get_variable_to_shape_map())
    {'save_counter': [], 'x': [2]}
    """

    def __init__(self, ckpt_dir_or_file: str | os.PathLike[str]):
        self._known = _arrays(ckpt_dir_or_file)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of everything, by name."""
        return {name: list(array.shape) for name, array in self._known.items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype]:
        """The dtype of everything, by name."""
        return {name: array.dtype for name, array in self._known.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Is there anything of the name `tensor_str`?"""
        return tensor_str.removesuffix(_ENDING) in self._known

    def get_tensor(self, tensor_str: str) -> np.ndarray:
        """The array of the name `tensor_str`; KeyError where there is none."""
        if not self.has_tensor(tensor_str):
            known = ", ".join(sorted(self._known))
            raise KeyError(f"the checkpoint holds no {tensor_str!r}; it holds {known}{at_user_line()}")
        return np.array(self._known[tensor_str.removesuffix(_ENDING)])


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """A reader of the checkpoint `ckpt_dir_or_file`, or of the latest one of a folder.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reader = tf.train.load_checkpoint(tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(folder + "/c"))
    ...     reader.get_variable_to_shape_map(), reader.get_tensor("v")
    ({'v': [2]}, array([1., 2.], dtype=float32))
    """
    return CheckpointReader(ckpt_dir_or_file)
