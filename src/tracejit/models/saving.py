"""Networks in files: what they are made from as plain data, and the values of their Variables. No code, no pickles.

Reading a file makes a network as its program would: by classes that the library has or the program names, called once
with zeros where a class makes its weights at its first call.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from ..train.checkpoint import store
from ..train.checkpoint.checkpoint import paths_of
from .configuration import NotDescribed, described, one_description, revived, weights_up_to
from .registration import custom_object_scope

_FORMAT = "tracejit-network-1"
_TUPLE, _SPEC = "__tuple__", "__spec__"
_MOST = 2**28  # elements of what a network is first called with
_SHOWN = 10  # names that an error lists


class NotLoaded(tf.TracejitError, ValueError):
    """A file that no network can be made from.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tf
    >>> network = tf.keras.Sequential([tf.layers.Dense(2, input_shape=(3,))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     network.save_weights(f"{folder}/weights.safetensors")
    ...     try:
    ...         tf.models.load_model(f"{folder}/weights.safetensors")
    ...     except tf.models.NotLoaded as error:
    ...         print("use Model.load_weights" if "load_weights" in str(error) else error)
    use Model.load_weights
    """


def save_model(
    model: Any, filepath: str | os.PathLike[str], overwrite: bool = True, include_optimizer: bool = True
) -> None:
    """Write a network to one file: what it is made from, its weights, and how it is trained.

    Parameters
    ----------
    model : Model
        Whose layers are the library's, or have arguments that are data; classes that are not the library's are stored
        by name.
    filepath : path
        With any ending: the format is our own, whatever the ending says. Its folder is made if it is not there.
    overwrite : bool
    include_optimizer : bool
        With the optimizer, its state, and the loss and the metrics of ``compile``.

    Raises
    ------
    NotDescribed
        Where something cannot be written down as data, such as the function of a Lambda layer.
    FileExistsError
        When the file is there already and `overwrite` is False.
    IsADirectoryError
        When `filepath` is a folder.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> x = tf.keras.Input((3,))
    >>> model = tf.keras.Model(x, tf.layers.Dense(2)(x))
    >>> path = tempfile.mkdtemp() + "/model.keras"
    >>> tf.keras.models.save_model(model, path)
    >>> tf.keras.models.load_model(path).count_params()
    8
    """
    path = Path(filepath)
    if path.is_dir():
        raise IsADirectoryError(f"{os.fspath(filepath)!r} is a folder: a network is one file{at_user_line()}")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{os.fspath(filepath)!r} is there already{at_user_line()}")
    with one_description():
        whole = {"network": described(model, repr(model)), "first_call": _call_as_data(model)}
    whole["frozen"] = [path for path, part in _layers(model) if not part.trainable]
    compiled = include_optimizer and model.optimizer is not None
    found = _variables(model, compiled)
    if compiled:
        with one_description():
            whole["compile"] = described(model.compile_config(), f"compile() of {model!r}")
        whole["slots"] = [_path_of(v, found) for v in model.optimizer.owners()]
    arrays = {name: v.array for name, v in found.items()}
    metadata = {"format": _FORMAT, "network": json.dumps(_encoded(whole))}
    path.parent.mkdir(parents=True, exist_ok=True)
    store.write(path, arrays, metadata)


def load_model(
    filepath: str | os.PathLike[str], custom_objects: Mapping[str, Any] | None = None, compile: bool = True
) -> Any:
    """The network in a file that ``Model.save`` wrote.

    Parameters
    ----------
    filepath : path
    custom_objects : dict, optional
        Classes and functions of the program by name, where it has not registered them by
        :func:`tracejit.keras.utils.register_keras_serializable`.
    compile : bool
        With optimizer, loss and metrics, if they are in the file; training goes on where it was.

    Returns
    -------
    Model

    Raises
    ------
    DamagedCheckpoint
        When the file is no such file, or its content has changed since it was written.
    NotDescribed
        When a class in it is not known, or makes no object from what is there.
    NotLoaded
        When what is made of it has other Variables than the file has values for, or cannot be made.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> class Double(tf.layers.Layer):
    ...     def call(self, inputs):
    ...         return 2.0 * inputs
    >>> path = tempfile.mkdtemp() + "/double.model"
    >>> tf.Sequential([Double()]).save(path)
    >>> float(tf.keras.models.load_model(path, custom_objects={"Double": Double})(tf.constant(4.0)))
    8.0
    """
    path = os.fspath(filepath)
    arrays, whole = _content(path)
    try:
        with (
            custom_object_scope(custom_objects),
            weights_up_to(max((a.size for a in arrays.values()), default=0)),
        ):
            model = _made(whole)
        for where, part in _layers(model):
            part.trainable = where not in whole["frozen"]
        compiled = compile and "compile" in whole and _compile(model, whole, custom_objects)
        _fill(path, model, arrays, compiled)
    except (NotDescribed, NotLoaded) as error:
        raise type(error)(f"{path}: {error}") from error.__cause__
    except Exception as error:
        raise NotLoaded(
            f"{path} cannot be made into a network: {type(error).__name__}: {error}{at_user_line()}"
        ) from error
    return model


def _made(whole: Mapping[str, Any]) -> Any:
    """The network, with weights of any values if they were stored."""
    with one_description():
        model = revived(whole["network"])
    if not isinstance(model, tf.keras.Model):
        raise NotLoaded(f"it holds no network, but {model!r}{at_user_line()}")
    if not model.built and whole["first_call"] is not None:
        args, kwargs = whole["first_call"]
        model.make_weights(*_zeros(args), **_zeros(kwargs))
    return model


def to_json(model: Any) -> str:
    """What a network is made from, as text."""
    with one_description():
        return json.dumps(_encoded(described(model, repr(model))))


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The network, with first values for its weights, that `json_string`, the text of ``Model.to_json``, describes.

    `custom_objects` and errors are those of :func:`load_model`; ValueError for what is no such text.

    Examples
    --------
    >>> import tracejit as tf
    >>> text = tf.Sequential([tf.layers.Dense(2, input_shape=(3,))]).to_json()
    >>> tf.keras.models.model_from_json(text).count_params()
    8
    """
    with custom_object_scope(custom_objects), one_description():
        return revived(_untagged(json.loads(json_string)))


def clone_model(model: Any) -> Any:
    """A network like `model` that shares nothing with it, with first values for its weights.

    NotDescribed where it has something that data cannot stand for.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.layers.Dense(2, input_shape=(3,))])
    >>> tf.keras.models.clone_model(model).layers[0] is model.layers[0]
    False
    """
    with custom_object_scope({type(part).__name__: type(part) for part in (model, *model.submodules)}):
        return model_from_json(to_json(model))


# ---- Variables ------------------------------------------------------------------------------------------


def _variables(model: Any, compiled: bool) -> dict[str, Any]:
    """Every Variable of the network, and with `compiled` of its optimizer, by the first path at which it is found."""
    found: dict[int, tuple[str, Any]] = {}
    for path, part in paths_of(model):
        if isinstance(part, tf.Variable) and (compiled or not path.startswith("optimizer/")):
            found.setdefault(id(part), (path, part))
    return dict(found.values())


def _layers(model: Any) -> list[tuple[str, Any]]:
    """The network and the layers in it, by path."""
    return [("", model), *((p, x) for p, x in paths_of(model) if isinstance(x, tf.layers.Layer))]


def _path_of(variable: Any, found: Mapping[str, Any]) -> str:
    for name, known in found.items():
        if known is variable:
            return name
    raise NotDescribed(
        f"the optimizer has trained {variable.name!r}, which is not the network's{at_user_line()}"
    )


def _fill(path: str, model: Any, arrays: Mapping[str, np.ndarray], compiled: bool) -> None:
    """Give every Variable its value; NotLoaded unless they are those that the file has values for."""
    found = _variables(model, compiled)
    wanted = {name: a for name, a in arrays.items() if compiled or not name.startswith("optimizer/")}
    wrong = [f"{name} is only in the file" for name in wanted if name not in found]
    wrong += [f"{name} is only in the network" for name in found if name not in wanted]
    for name, v in found.items():
        if name in wanted and (wanted[name].shape != v.spec.shape or wanted[name].dtype != v.dtype):
            have = f"{wanted[name].dtype.name}{list(wanted[name].shape)}"
            wrong.append(f"{name}: the file has {have}, the network {v.spec}")
    if wrong:
        more = [f"and {len(wrong) - _SHOWN} more"] if len(wrong) > _SHOWN else []
        listed = "; ".join([*wrong[:_SHOWN], *more])
        raise NotLoaded(f"the network made of it has other Variables: {listed}{at_user_line()}")
    for name, v in found.items():
        v.assign(wanted[name])


def _compile(model: Any, whole: Mapping[str, Any], custom_objects: Mapping[str, Any] | None) -> bool:
    """Say how it is trained, and make the optimizer's state; returns whether that was done."""
    if type(model).compile is not tf.keras.Model.compile:
        warnings.warn(f"{model!r} has a compile() of its own: call it before training", stacklevel=3)
        return False
    with custom_object_scope(custom_objects), one_description():
        model.compile(**revived(whole["compile"]))
    found = _variables(model, True)
    model.optimizer.build([found[name] for name in whole["slots"]])
    return True


# ---- text -----------------------------------------------------------------------------------------------


def _content(path: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    try:
        arrays, metadata = store.read(Path(path))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}{at_user_line()}") from None
    except store.DamagedCheckpoint as error:
        raise store.DamagedCheckpoint(
            f"{path} is damaged, or was not written by Model.save: files of Keras, HDF5 and TensorFlow are not read"
            f"{at_user_line()}"
        ) from error
    if metadata.get("format") != _FORMAT:
        raise NotLoaded(
            f"{path} holds {metadata.get('format')!r}, not a network: weights alone are for Model.load_weights, "
            f"checkpoints for tracejit.train.Checkpoint{at_user_line()}"
        )
    try:
        whole = _untagged(json.loads(metadata["network"]))
        return arrays, {"first_call": None, **whole, "network": whole["network"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise store.DamagedCheckpoint(
            f"{path} is damaged: it does not say what it holds{at_user_line()}"
        ) from error


def _encoded(value: Any) -> Any:
    """Data in which tuples are told from lists."""
    if isinstance(value, tuple):
        return {"class_name": _TUPLE, "config": [_encoded(x) for x in value]}
    if isinstance(value, list):
        return [_encoded(x) for x in value]
    return {key: _encoded(x) for key, x in value.items()} if isinstance(value, dict) else value


def _untagged(value: Any) -> Any:
    if isinstance(value, list):
        return [_untagged(x) for x in value]
    if not isinstance(value, dict):
        return value
    if value.get("class_name") == _TUPLE:
        return tuple(_untagged(x) for x in value["config"])
    return {key: _untagged(x) for key, x in value.items()}


def _call_as_data(model: Any) -> Any:
    """The first call of the network: the specs of its arguments."""
    call = vars(model).get("_first_call")
    return None if call is None else _specs_as_data(call)


def _specs_as_data(value: Any) -> Any:
    if isinstance(value, tf.TensorSpec):
        shape = [s if isinstance(s, int) else None for s in value.shape]
        return {"class_name": _SPEC, "config": [shape, value.dtype.name]}
    if isinstance(value, (list, tuple)):
        return type(value)([_specs_as_data(x) for x in value])
    if isinstance(value, dict):
        return {key: _specs_as_data(x) for key, x in value.items()}
    return described(value, "an argument of the first call")


def _zeros(value: Any) -> Any:
    """Arguments with zeros in place of specs."""
    if isinstance(value, (list, tuple)):
        return type(value)([_zeros(x) for x in value])
    if not isinstance(value, dict):
        return value
    if value.get("class_name") != _SPEC:
        return {key: _zeros(x) for key, x in value.items()}
    shape, dtype = value["config"]
    sizes = [1 if s is None else int(s) for s in shape]
    if math.prod(sizes) > _MOST:
        raise NotLoaded(f"it was first called with a tensor of shape {tuple(sizes)}{at_user_line()}")
    return tf.zeros(sizes, dtype)
