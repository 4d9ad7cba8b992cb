"""What is said of a name that is not there: what to use instead, that it is out of scope, or which name is nearest."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

_GRAPHS = "functions are traced, not graphs built by hand: write a Python function and compile it by tracejit.function"
_AT_ONCE = "ops run at once, there is no session: call the function, or compile it by tracejit.function"
_RAGGED = "ragged tensors are out of scope: pad the rows, and mask them by tracejit.sequence_mask"
_SPARSE = "sparse tensors are out of scope: tracejit.scatter_nd makes dense ones, tracejit.IndexedSlices updates rows"
_STRATEGIES = (
    "distribution strategies are out of scope: there is one machine, whose cores compiled code uses by itself"
)
_ESTIMATORS = "estimators are out of scope: tracejit.keras.Model has fit, evaluate and predict"
_COLUMNS = "feature columns are out of scope: give arrays to the network, or map a Dataset"
_SERVING = "serving is out of scope: tracejit.export makes a library, tracejit.saved_model.save a folder to load again"
_OTHER_COMPILERS = "other compilers are out of scope: tracejit.function compiles"
_IN_PLACE = "no function changes a tensor: write x[index] = value, or x = x.at[index].set(value)"
_DATA = "data sets are not downloaded: give arrays that were loaded by other means"
_FOLDERS = "folders are not read: list their files by pathlib, and load each in Dataset.from_generator"
_PICTURES = "pictures are not read or written: np.asarray(PIL.Image.open(path)) reads one, PIL.Image.fromarray makes it"
_RECORDS = "files of records are not read or written: keep arrays in files of NumPy, or text in tracejit.data"
_HASHES = "hashes of words are out of scope: tracejit.keras.layers.StringLookup numbers them"

_COMPILES = "the decorator tracejit.function compiles, loops and gradients included"
_NOT_RECORDED = (
    "nothing is recorded outside of a tape: tape.stop_recording() within one, or tracejit.stop_gradient(x)"
)
_TAPES = "gradients are asked of a tape, tape.gradient(y, x), or of a function, tracejit.grad(f)(x)"
_WATCHED = "tapes follow Variables, and tensors that they watch: tape.watch(x)"
_CHANGED = (
    "tensors do not change, Variables do: v = tracejit.Variable(x), then v.assign, v.assign_add, v[i].assign"
)
_ONE_PLACE = "tensors are in the memory of the processor, for which tracejit.function compiles"
_CONTROL_FLOW = "Python's if, while and for are compiled; or call cond, while_loop, fori_loop, scan, map_fn"
_SEEDS = "tracejit.random.Generator(seed) draws numbers, and split() makes independent ones of it"

_OWN_RULE = "a function with a gradient of its own is tracejit.custom_gradient: it returns (value, rule)"

#: Names to sentences; one with dots is that of a namespace, others mean the same wherever they are asked for.
_INSTEAD = {
    **dict.fromkeys(("Session", "InteractiveSession", "placeholder", "placeholder_v2"), _AT_ONCE),
    **dict.fromkeys(("get_default_session", "tables_initializer", "local_variables_initializer"), _AT_ONCE),
    **dict.fromkeys(("Graph", "Operation", "GraphDef", "get_default_graph", "reset_default_graph"), _GRAPHS),
    **dict.fromkeys(
        ("import_graph_def", "graph_util", "get_collection", "GraphKeys", "wrap_function"), _GRAPHS
    ),
    **dict.fromkeys(("ragged", "RaggedTensor", "RaggedTensorSpec"), _RAGGED),
    **dict.fromkeys(("sparse", "SparseTensor", "SparseTensorSpec", "sparse_tensor_to_dense"), _SPARSE),
    **dict.fromkeys(("distribute", "tpu", "MirroredStrategy", "VariableAggregation"), _STRATEGIES),
    **dict.fromkeys(("VariableSynchronization", "set_virtual_device_configuration"), _STRATEGIES),
    **dict.fromkeys(("estimator", "Estimator"), _ESTIMATORS),
    **dict.fromkeys(("feature_column",), _COLUMNS),
    **dict.fromkeys(("lite", "mlir", "serving"), _SERVING),
    **dict.fromkeys(("xla",), _OTHER_COMPILERS),
    "keras.datasets": _DATA,
    "get_file": _DATA,
    **dict.fromkeys(
        ("image_dataset_from_directory", "text_dataset_from_directory", "audio_dataset_from_directory"),
        _FOLDERS,
    ),
    **dict.fromkeys(
        ("decode_jpeg", "decode_png", "decode_image", "decode_gif", "encode_jpeg", "encode_png"), _PICTURES
    ),
    **dict.fromkeys(
        ("TFRecordDataset", "TFRecordWriter", "TFRecordOptions", "FixedLenFeature", "VarLenFeature"), _RECORDS
    ),
    **dict.fromkeys(("parse_example", "parse_single_example", "parse_single_sequence_example"), _RECORDS),
    **dict.fromkeys(("Example", "Features", "Feature", "BytesList", "FloatList", "Int64List"), _RECORDS),
    "DenseFeatures": _COLUMNS,
    "TFSMLayer": "tracejit.saved_model.load gives a function, which a layer or tracejit.layers.Lambda may call",
    **dict.fromkeys(("Hashing", "HashedCrossing", "to_hash_bucket_fast", "to_hash_bucket"), _HASHES),
    **dict.fromkeys(("set_logical_device_configuration", "LogicalDeviceConfiguration"), _STRATEGIES),
    **dict.fromkeys(("experimental_connect_to_cluster", "ClusterSpec", "AutoShardPolicy"), _STRATEGIES),
    **dict.fromkeys(("load_img", "save_img", "array_to_img"), _PICTURES),
    "BackupAndRestore": "tracejit.train.CheckpointManager keeps the last states of a training, and restores them",
    "get_logger": "use the logging module of Python: logging.getLogger('tracejit')",
    "set_log_device_placement": _ONE_PLACE,
    "set_soft_device_placement": _ONE_PLACE,
    "applications": "trained networks are not downloaded: make the layers, and give them weights by set_weights",
    **dict.fromkeys(("plot_model", "model_to_dot"), "tracejit.keras.Model has summary()"),
    "legacy": "one namespace has them all: leave legacy out",
    **{f"numpy.{name}": _IN_PLACE for name in ("putmask", "copyto")},
    "version": "the version is tracejit.__version__",
    "signal": "Fourier transforms are in tracejit.numpy.fft, convolutions in tracejit.scipy.signal",
    "sets": _SPARSE,
    "sysconfig": "there are no headers or flags to build against: tracejit.export writes what C needs",
    "TypeSpec": "specs are tracejit.TensorSpec",
    "experimental": "what is experimental elsewhere: NumPy's names are in tracejit.numpy, vmap is tracejit.vmap",
    "CriticalSection": "what changes a Variable is atomic in itself",
    "load_library": "ops of machine code are out of scope: tracejit.defop declares new ones in Python",
    "disable_eager_execution": _AT_ONCE,
    "disable_v2_behavior": _AT_ONCE,
    "quantization": "quantisation is out of scope",
    "audio": "audio is out of scope: give arrays",
    "lookup": "tables are out of scope: a dict outside of compiled functions, tracejit.gather inside",
    "logging": "use the logging module of Python",
    "flags": "use the argparse module of Python",
    "gfile": "use pathlib, or tracejit.io",
    "app": "call the main function",
    **dict.fromkeys(("jit", "njit", "compile"), _COMPILES),
    **dict.fromkeys(("no_grad", "inference_mode", "set_grad_enabled", "enable_grad"), _NOT_RECORDED),
    **dict.fromkeys(
        ("tensor", "from_numpy"), "tensors are made by tracejit.constant and tracejit.convert_to_tensor"
    ),
    **dict.fromkeys(
        ("pmap", "prange", "set_num_threads"), "loops are shared by threads: tracejit.config.threading"
    ),
    **dict.fromkeys(("device_put", "cuda", "devices"), _ONE_PLACE),
    **dict.fromkeys(("primitive", "defvjp", "defvjp_argnum", "defgrad", "custom_vjp"), _OWN_RULE),
    **dict.fromkeys(("make_vjp", "make_jvp", "make_hvp"), "write tracejit.vjp, tracejit.jvp or tracejit.hvp"),
    "elementwise_grad": "write tracejit.grad of the sum: tracejit.grad(lambda x: tracejit.reduce_sum(f(x)))(x)",
    "numpy.random": "numbers are drawn by numpy.random, and by tracejit.random in what is compiled, at each call",
    **dict.fromkeys(("PRNGKey", "random.key", "manual_seed"), _SEEDS),
    **dict.fromkeys(
        ("tree_util", "tree", "tree_map"), "tracejit.nest has map_structure, flatten and pack_sequence_as"
    ),
    "lax": _CONTROL_FLOW,
    **dict.fromkeys(
        ("vectorize", "guvectorize"), "tracejit.vmap runs a function of one example on all of them"
    ),
    "make_jaxpr": "tracejit.function(f).graph(x) is the traced graph, gradient_graph(x) that of its gradient",
    "optim": "optimizers are in tracejit.optimizers",
    "autograd": "derivatives are tracejit.grad, jvp, vjp, jacobians and tapes; tracejit.custom_gradient gives a rule",
    "block_until_ready": "calls come back when the result is there",
    "keras.ops": "NumPy's names are in tracejit.numpy, those of networks in tracejit.nn, loops in tracejit itself",
    "keras.random": "random numbers are in tracejit.random, with seed= or a Generator; tracejit.nn has dropout",
    **{
        f"random.{name}": "draw it by NumPy and give it to the function: normal, uniform and categorical "
        "numbers are drawn here, densities are in tracejit.scipy.stats"
        for name in ("gamma", "poisson", "beta", "binomial", "stateless_gamma", "stateless_poisson")
    },
    "optimizers.Adafactor": "tracejit.optimizers.Adam and Adagrad keep one or two numbers for each weight",
    **dict.fromkeys(
        ("config.experimental.get_memory_info", "config.experimental.get_memory_usage"),
        "Python's resource module tells how much memory the process takes",
    ),
}

#: The same for attributes of tensors and Variables.
_OF_TENSORS = {
    **dict.fromkeys(("backward", "grad", "grad_fn", "retain_grad"), _TAPES),
    **dict.fromkeys(("requires_grad", "requires_grad_", "is_leaf"), _WATCHED),
    **dict.fromkeys(("detach", "detach_"), "write tracejit.stop_gradient(x)"),
    **dict.fromkeys(("add_", "sub_", "mul_", "div_", "zero_", "copy_", "fill_"), _CHANGED),
    **dict.fromkeys(("cpu", "cuda", "pin_memory"), _ONE_PLACE),
    **dict.fromkeys(
        ("to", "type", "float", "double", "long", "int"), "write x.astype(dtype), or tracejit.cast"
    ),
    "view_as": "write x.reshape(shape)",
    **dict.fromkeys(("unsqueeze", "unsqueeze_"), "write tracejit.expand_dims(x, axis), or x[..., None]"),
    "permute": "write tracejit.transpose(x, axes)",
    "dim": "write x.ndim",
    "numel": "write x.size",
    "clone": "write x.copy()",
    "contiguous": "every tensor is taken in any layout",
    "eval": "there is no session: x.numpy()",
    "block_until_ready": "calls come back when the result is there",
}

#: Namespaces in which a name may stand instead, the likeliest first.
_FACES = (
    "nn",
    "math",
    "linalg",
    "random",
    "strings",
    "image",
    "debugging",
    "train",
    "layers",
    "losses",
    "data",
)


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for `name`, which `module` does not have; `known` are the names that it has."""
    text = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("__"):  # what protocols ask for is nobody's mistake
        text += _remark(module, name, known)
    return AttributeError(text, name=name)  # Python has no remark of its own to an error with a name


def missing_attribute(of: object, name: str) -> AttributeError:
    """The error for an attribute `name` that a tensor or Variable does not have; Python adds which one is nearest."""
    text = f"{type(of).__name__!r} object has no attribute {name!r}"
    if name in _OF_TENSORS:
        return AttributeError(f"{text}: {_OF_TENSORS[name]}", name=name)
    return AttributeError(text, name=name, obj=of)


def _remark(module: str, name: str, known: Iterable[str]) -> str:
    package, _, place = module.partition(".")
    instead = _INSTEAD.get(f"{place}.{name}" if place else name) or _INSTEAD.get(name)
    if instead is not None:
        return f": {instead}"
    others = [face for face in _FACES if not place and name in _names_of(package, face)]
    if others:
        return f"; there is {package}.{others[0]}.{name}"
    likely = nearest(name, known)
    return f". Did you mean: {likely!r}?" if likely is not None else ""


def _names_of(package: str, name: str) -> Sequence[str]:
    face: Any = getattr(sys.modules[package], name)  # which loads it
    return getattr(face, "__all__", None) or list(vars(face))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of the `known` names that `name` is likely to be a misspelling of; None when none is close.

    Examples
    --------
    >>> nearest("reduce_maen", ["reduce_mean", "reduce_max", "relu"])
    'reduce_mean'
    """
    plain, limit = _plain(name), 1 if len(name) < 5 else 2 if len(name) < 9 else 3
    best: tuple[int, str] | None = None
    for other in sorted(known):
        if other.startswith("_"):
            continue
        word = _plain(other)
        if abs(len(word) - len(plain)) > limit or len(set(word) ^ set(plain)) > 2 * limit:
            continue
        count = _edits(plain, word)
        if count <= limit and (best is None or count < best[0]):
            best = count, other
    return None if best is None else best[1]


def _plain(name: str) -> str:
    return name.casefold().replace("_", "")


def _edits(a: str, b: str) -> int:
    """How many letters are put in, left out, replaced, or swapped with the next, to come from `a` to `b`."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
