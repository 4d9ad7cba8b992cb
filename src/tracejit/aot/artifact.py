"""Artifact: an exported function as one object, called here, written for others, checked. Needs no compiler."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.dim import Size, evaluate, holds
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.lazy import Later, once
from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.elf import ObjectError
from ..runtime.executable import Executable
from ..runtime.exported import container
from ..runtime.exported.container import BadArtifact
from ..runtime.exported.interface import Interface, array_text, signature_text
from ..runtime.lane import words
from ..runtime.lane.builtin import Lane

if TYPE_CHECKING:
    from ..frontend import structure
    from . import loading, lowlevel, retargeting, verification, writing
    from .lowlevel import Loaded
    from .verification import Verification
else:
    structure = Later("..frontend.structure", __package__)
    loading, lowlevel, retargeting, verification, writing = (
        Later(f".{name}", __package__)
        for name in ("loading", "lowlevel", "retargeting", "verification", "writing")
    )

_MAX_ADMITTED = 1024
#: What is surely no nest of arguments.
_LEAVES = (np.ndarray, np.generic, int, float, complex)


class Sample(NamedTuple):
    """Arguments, and what they give."""

    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]


class KeptGraph(NamedTuple):
    """The graph as text, and its constants by the names that they have there."""

    text: str
    constants: Mapping[str, np.ndarray]


class Code(NamedTuple):
    """The code for one processor, or those that can do as much."""

    target: cpu.CpuTarget
    compiled: CompiledObject
    interface: Interface

    @property
    def text(self) -> str:
        """The processors, for people and in files."""
        return f"{self.target.arch}/{self.target.name}"


class _CallSignature:
    """What ``inspect.signature`` says of an artifact; the class has its own."""

    def __get__(self, art: Artifact | None, owner: type | None = None) -> Signature | None:
        if art is None:
            return None
        given = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in art._interface.inputs]
        return Signature([*given, Parameter("out", Parameter.KEYWORD_ONLY, default=None)])


class Artifact:
    """An exported function: made by :func:`export`, or read by :func:`load`.

    Calling it with arrays, in the order of :attr:`signature` or in the nests of the Python function, gives its results
    as arrays: one, or a tuple. ``out=``, an array or a tuple of them with None for what is to be made, says where
    results go: contiguous arrays that overlap neither the arguments nor each other.

    Parameters
    ----------
    codes : sequence of Code
        The same function for several processors, the best first.
    sample : Sample or None
        Arguments and results that :meth:`verify` compares with.
    lanes : mapping of str to bytes
        For architectures, the machine code that makes calls quick.
    graph : KeptGraph, optional
        What :meth:`retarget` compiles.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tf
    >>> art = tf.export(lambda x, y: tf.reduce_sum(x * y), ["f64[n]", "f64[n]"], name="dot", outputs=["value"])
    >>> print(art.signature)
    dot(x: float64[n], y: float64[n]) -> (value: float64[])
    >>> float(art(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """

    # A call finds what is stored here, without a method of Python in between: first `_called`, then the lane's builtin.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]
    __signature__: _CallSignature = _CallSignature()

    def __init__(
        self,
        codes: Sequence[Code],
        sample: Sample | None,
        lanes: Mapping[str, bytes] | None = None,
        graph: KeptGraph | None = None,
    ):
        self._codes = tuple(codes)
        self._sample = sample
        self._lanes = dict(lanes or {})
        self._graph = graph
        self._admitted: set[tuple[Any, ...]] = set()
        self._offered: set[tuple[Any, ...]] = set()
        _, compiled, self._interface = codes[0]
        self._inputs = compiled.signature.inputs
        self._dtypes = [dtype for dtype, _ in self._inputs]
        self._kinds = [np.ndarray] * len(self._inputs)
        self.__call__ = self._called

    # ---- calling ----------------------------------------------------------------------------------------

    @once
    def _code_here(self) -> Code:
        """The first code that this processor can run."""
        machine = cpu.host()
        for code in self._codes:
            if code.target.runs_on(machine):
                return code
        target = self._codes[-1].target
        if machine.arch not in {code.target.arch for code in self._codes}:
            raise BadArtifact(
                f"{self.name} has code for {self.targets}, and none for this processor, {machine.arch}"
            )
        lacking = ", ".join(sorted(target.enabled - machine.enabled))
        raise BadArtifact(
            f"{self.name} has code for {self.targets}, and this processor is {machine.arch} without {lacking}: export "
            "it for a lower level, targets=('x86-64-v2',)"
        )

    @once
    def _executable(self) -> Executable:
        compiled = self._code_here.compiled
        try:
            return compiled.load()
        except (ObjectError, KeyError) as error:
            raise BadArtifact(f"the code of {self.name} is damaged: {error}") from None

    @once
    def _lane(self) -> Lane | None:
        """What calls the code by tables, where that can be."""
        code, executable = self._lanes.get(self._code_here.target.arch), self._executable
        if code is None or not Lane.serves(executable):
            return None
        try:
            return Lane(code, executable, self._called, len(self._code_here.compiled.image))
        except (ObjectError, KeyError) as error:
            raise BadArtifact(f"the code that calls {self.name} is damaged: {error}") from None

    def _called(self, *args: Any, out: Any = None) -> Any:
        """A call in Python: the first with its shapes, and whatever the lane does not take."""
        if [type(x) for x in args] != self._kinds:
            args = self._arrays(args)
        shapes = tuple([x.shape for x in args])
        if shapes not in self._admitted or [x.dtype for x in args] != self._dtypes:
            self._check(args)
            if len(self._admitted) >= _MAX_ADMITTED:
                self._admitted.clear()
            self._admitted.add(shapes)
        outputs = self._executable(args, None if out is None else self._places(args, out))
        if shapes not in self._offered and len(self._offered) < _MAX_ADMITTED:
            self._offered.add(shapes)
            if self._lane is not None and self._lane.admit(shapes):
                self.__call__ = self._lane.builtin
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _arrays(self, args: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """The arrays in the arguments, with Python's numbers as what is wanted there."""
        flat = all(isinstance(x, _LEAVES) for x in args)
        leaves = args if flat else structure.flatten(args)[0]
        if len(leaves) != len(self._inputs):
            raise TypeError(f"{self.signature} takes {len(self._inputs)} arrays, got {len(leaves)}")
        pairs = zip(leaves, self._inputs, strict=True)
        return tuple(
            np.asarray(x, dtype) if isinstance(x, (int, float, complex)) else np.asarray(x)
            for x, (dtype, _) in pairs
        )

    def _places(self, args: Sequence[np.ndarray], out: Any) -> list[np.ndarray | None]:
        """The arrays for results, of which the executable checks the rest."""
        names = self._interface.outputs
        places = [out] if isinstance(out, np.ndarray) and len(names) == 1 else list(out)
        if len(places) != len(names):
            raise ValueError(f"out= takes {len(names)} arrays, for {', '.join(names)}; got {len(places)}")
        taken = list(zip(self._interface.inputs, args, strict=True))
        for name, place in zip(names, places, strict=True):
            if place is None:
                continue
            if not isinstance(place, np.ndarray):
                raise TypeError(f"out= takes an array for {name}, got {type(place).__name__}")
            shared = next((other for other, x in taken if np.may_share_memory(place, x)), None)
            if shared is not None:
                raise ValueError(f"the memory of {name} in out= may overlap that of {shared}")
            taken.append((name, place))
        return places

    def _check(self, arrays: Sequence[np.ndarray]) -> None:
        """ShapeError or DtypeError for arrays that are not what the function was made for."""
        signature = self._codes[0].compiled.signature
        specs = list(zip(self._interface.inputs, arrays, self._inputs, strict=True))
        for name, x, (dtype, shape) in specs:
            if x.dtype != dtype or x.ndim != len(shape):
                error = ShapeError if x.dtype == dtype else DtypeError
                raise error(f"{name} is {array_text(dtype, shape)}, got {array_text(x.dtype, x.shape)}")
        sizes = {name: arrays[index].shape[axis] for name, index, axis in signature.atoms}
        for name, x, (dtype, shape) in specs:
            wanted = tuple(evaluate(s, sizes) for s in shape)
            if x.shape != wanted:
                known = ", ".join(f"{n} = {size}" for n, size in sizes.items())
                where = f" where {known}" if known else ""
                raise ShapeError(f"{name} is {array_text(dtype, shape)}{where}, got the shape {x.shape}")
        if not holds(self._interface.checks, sizes):
            rules = ", ".join(f"{a} {relation} {b}" for relation, a, b in self._interface.checks)
            raise ShapeError(f"{self._interface.name} was made for {rules}, got {sizes}")

    # ---- what it is -------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the C function."""
        return self._interface.name

    @property
    def signature(self) -> str:
        """Parameters and results, with dtypes and shapes."""
        return signature_text(self._interface, self._codes[0].compiled.signature)

    @property
    def results(self) -> tuple[tuple[np.dtype, tuple[Size, ...]], ...]:
        """The dtype and the shape of each result, in which sizes may have names."""
        return self._codes[0].compiled.signature.outputs

    @property
    def targets(self) -> tuple[str, ...]:
        """The processors that there is code for, the best first: ``"x86_64/host"``."""
        return tuple(code.text for code in self._codes)

    def __repr__(self) -> str:
        return f"<Artifact {self.signature} for {', '.join(self.targets)}>"

    # ---- for compiled callers here ----------------------------------------------------------------------

    @once
    def _loaded(self) -> Loaded:
        code = self._code_here
        return lowlevel.Loaded(code.compiled, code.interface)

    @property
    def address(self) -> int:
        """The address of the C function in this process, of the type that :meth:`header` declares."""
        return self._loaded.address

    def c_function(self) -> Any:
        """The C function as one of ctypes, which compiled functions of numba call, too.

        Arrays are ``c_void_p``, such as ``x.ctypes.data``, and named sizes ``c_int64``; it returns the status.
        """
        return self._loaded.c_function()

    def lowlevel_callable(self, caller: str = "quad") -> Any:
        """The function as a ``scipy.LowLevelCallable``, which SciPy calls without Python.

        Parameters
        ----------
        caller : {"quad", "nquad", "cython_optimize", "generic_filter", "generic_filter1d"}
            Who calls. For ``"quad"`` the function takes float64 numbers, the variable of integration first, or one
            float64 vector, as for ``"nquad"``; for ``"cython_optimize"`` one number; for the filters one vector.
            It has one result, a number or, for ``"generic_filter1d"``, a vector.

        Returns
        -------
        scipy.LowLevelCallable
            A call that fails gives NaN; in filters, an error.

        Raises
        ------
        ValueError
            The function takes or returns something else.
        ImportError
            There is no SciPy.
        """
        return self._loaded.lowlevel_callable(caller)

    # ---- writing ----------------------------------------------------------------------------------------

    def header(self, target: str | None = None) -> str:
        """The C header of the code for `target`, one of :attr:`targets`, by default the first: C99, and valid C++."""
        _, compiled, interface = self._code(target)
        return str(writing.FILES[".h"].make(compiled, interface, f"{self.name}.h"))

    def bindings(self, language: str, target: str | None = None) -> str:
        """The text of a module with which programs in another language call the written library.

        Parameters
        ----------
        language : str
            ``"python"``: a module that calls ``lib<name>.so`` beside it and needs NumPy only. ``"js"``: an ES module
            that calls ``<name>.wasm`` beside it, in browsers and Node.
        target : str, optional
            One of :attr:`targets`, by default the first that fits.

        Raises
        ------
        ValueError
            For another language, and a target that there is no code for.
        """
        chosen = writing.language(language)
        _, compiled, interface = self._code(target, chosen.machines)
        return chosen.make(compiled, interface)

    def write(self, path: str | os.PathLike[str], target: str | None = None) -> None:
        """Write the code for a processor as the end of the path says.

        Parameters
        ----------
        path : path
            ``.so``, a shared library, which programs that are linked with it look for by this name; ``.o``, an object;
            ``.h``, the header; ``.wasm``, a WebAssembly module; ``.py`` and ``.mjs``, the :meth:`bindings` of that
            language.
        target : str, optional
            One of :attr:`targets`, by default the first that fits.

        Raises
        ------
        ValueError
            For another ending, and a target that there is no code for.
        """
        name = os.path.basename(os.fsdecode(path))
        kind = writing.file_kind(os.path.splitext(name)[1])
        _, compiled, interface = self._code(target, kind.machines)
        contents = kind.make(compiled, interface, name)
        container.put(path, contents.encode() if isinstance(contents, str) else contents)

    def _code(self, target: str | None, machines: Sequence[str] = ()) -> Code:
        """The code for a target, or the first for one of the machines, if any are named."""
        for code in self._codes:
            if target in (code.text, code.target.name) or (
                target is None and (not machines or code.target.arch in machines)
            ):
                return code
        wanted = repr(target) if target else " or ".join(machines)
        raise ValueError(
            f"there is code for {', '.join(self.targets)}, not for {wanted}{at(user_location())}"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file at `path`, a ``.tja``, which :func:`load` reads."""
        container.write(path, *self._parts())

    def to_bytes(self) -> bytes:
        """The contents of the file that :meth:`save` writes; pickles hold these."""
        return container.packed(*self._parts())

    def __reduce__(self) -> tuple[Any, ...]:
        return loading.from_bytes, (self.to_bytes(),)

    def _parts(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a file holds: data that describe it, and bytes by name."""
        arrays = () if self._sample is None else (*self._sample.inputs, *self._sample.outputs)
        blobs = {f"code {k}": code.compiled.to_payload() for k, code in enumerate(self._codes)}
        blobs |= {f"sample {k}": a.tobytes() for k, a in enumerate(arrays)}
        blobs |= {f"lane {arch}": code for arch, code in self._lanes.items()}
        described: dict[str, Any] = {
            "codes": [
                [[t.arch, t.name, t.features, t.model], interface.to_json()]
                for t, _, interface in self._codes
            ],
            "sample": [_described(a) for a in arrays],
            "lane": words.VERSION,
        }
        if self._graph is not None:
            constants = self._graph.constants
            blobs |= {"graph": self._graph.text.encode()}
            blobs |= {f"constant {key}": a.tobytes() for key, a in constants.items()}
            described["graph"] = {key: _described(a) for key, a in constants.items()}
        return described, blobs

    def retarget(self, *targets: str) -> Artifact:
        """The same function for other processors, compiled from the graph that was kept; needs llvmlite.

        Parameters
        ----------
        *targets : str
            As :func:`export` takes them.

        Raises
        ------
        ValueError
            For other targets, and where no graph was kept.
        BadArtifact
            The graph in the file is damaged.

        Examples
        --------
        >>> import tracejit as tf
        >>> art = tf.export(lambda x: x * x, ["f64"], name="square")
        >>> art.retarget("host")(3.0)
        (array(9.), array(6.))
        """
        if self._graph is None:
            raise ValueError(
                f"{self.name} was exported with keep_graph=False, so that there is nothing to compile"
                f"{at(user_location())}"
            )
        return retargeting.retargeted(self._codes[0], self._graph, self._sample, targets)

    # ---- checking ---------------------------------------------------------------------------------------

    def verify(self, rtol: float | None = None) -> Verification:
        """Compare what the code gives now with what was kept when it was made, and gradients with differences.

        Parameters
        ----------
        rtol : float, optional
            How far results may be from those kept, relative to the largest; by default 1e-9, 1e-4 for float32 and
            more for half precision. Gradients are compared as well as differences allow.

        Raises
        ------
        NotVerified
            Says which result is how far off.
        """
        return verification.verified(
            lambda inputs: self._executable(inputs), self._interface, self._sample, rtol
        )


def _described(array: np.ndarray) -> list[Any]:
    return [array.dtype.name, list(array.shape)]
