"""Layer: a Module that makes its weights from the shape of its first input.

A subclass defines ``build(input_shape)``, which makes weights, and ``call(inputs)``, which uses them. Whether a
network is being trained is said once, to the outermost call, and known to the layers inside of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

import tracejit as tf

from .. import constraints, initializers, regularizers
from ..errors import at_user_line
from ..losses.steps import give_mask, mask_of, masks_of
from ..models.arguments import positional, takes, takes_more_than_itself, wants_training
from ..models.configuration import Configurable, check_size
from ..models.constrained import Constraints, kind_of_weight
from ..models.functional import Node, OfTheOnlyCall, ShapeOfResult, among, ends_of, record
from ..models.naming import name_of, numbered
from ..models.policies import DTypePolicy, as_computed, in_dtype, policy_of
from ..models.shapes import shape_of_result
from ..nn import activations


class _Call:
    """One call of a layer by a user: what the layers inside of it know of it."""

    __slots__ = ("training", "outermost")

    def __init__(self, training: bool | None, outer: _Call | None):
        self.training = training
        self.outermost: _Call = self if outer is None else outer.outermost


#: The call of the layer around this one.
_outer: ContextVar[_Call | None] = ContextVar("tracejit_call_of_a_layer", default=None)


class Layer(Configurable, tf.Module):
    """Base of layers and of networks.

    Parameters
    ----------
    trainable : bool
        False freezes the weights: they are not among :attr:`trainable_variables`.
    name : str, optional
        By default the class's name in snake case, with a number from the second one on.
    dtype : dtype-like or policy, optional
        Of the weights and of what is computed, or a policy, or its name, which says both, see
        :func:`tracejit.keras.mixed_precision.set_global_policy`, which gives the default. Inputs of floats are cast
        to what it computes in, as in Keras: for arrays of float64 say ``dtype="float64"`` where that matters.
    input_shape : tuple, optional
        The shape of one example, to make the weights at once; `input_dim` and `batch_input_shape` are other ways to
        say it, for vectors, and with the number of examples first, which is ignored.
    activity_regularizer : str or callable, optional
        What results cost, for each example of a batch, found in :attr:`losses`.
    **constraints : str or callable
        ``kernel_constraint``, ``bias_constraint`` and so on: what that weight is made after each step of an
        optimizer, see `keras.constraints`.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Scale(tf.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight("factor", input_shape[-1:], "ones")
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> layer = Scale()
    >>> layer([[1.0, 2.0]]).shape, [v.shape for v in layer.trainable_variables]
    (TensorShape([1, 2]), [TensorShape([2])])
    """

    _unsearched = frozenset(
        {
            *tf.Module._unsearched,
            "_made",
            "_regularized",
            "_added",
            "_last_call",
            "_result_shape",
            "_made_with",
        }
        | {"_first_call", "_nodes", "_holder", "_constraints"}
    )
    _changeable = True
    #: Are the arguments of calls cast to the dtype that it computes in?
    _casts_inputs = True
    _holder: Any
    _constraints: Constraints | None = None
    activity_regularizer: Any = None
    #: Does it compute in the dtype of its weights, whatever its results are?
    _in_that_of_weights = False

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        input_shape: Sequence[int | None] | None = None,
        input_dim: int | None = None,
        batch_input_shape: Sequence[int | None] | None = None,
        activity_regularizer: Any = None,
        **constraints: Any,
    ):
        super().__init__()
        self._name = name or numbered(name_of(type(self)))
        self.trainable: bool = trainable
        if input_shape is None:  # as older programs say it
            before = None if input_dim is None else (input_dim,)
            input_shape = before if batch_input_shape is None else tuple(batch_input_shape)[1:]
        if constraints:
            self._constraints = Constraints(self, constraints)
        if activity_regularizer is not None:
            self.activity_regularizer = regularizers.get(activity_regularizer)
        self.dtype_policy: DTypePolicy = policy_of(dtype)
        self.dtype: tf.DType = self.dtype_policy.variables
        self.built: bool = False
        self.supports_masking: bool = False
        self.input_shape: tuple[int | None, ...] | None = None if input_shape is None else tuple(input_shape)

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype it computes in."""
        return self.dtype_policy.compute_dtype

    @property
    def variable_dtype(self) -> str:
        """The name of the dtype of its weights."""
        return self.dtype_policy.variable_dtype

    # ---- for subclasses ---------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Make the weights. Called once, before the first call, with the shape of its inputs, `input_shape`."""

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The result for `inputs`; may take ``training`` too, a bool. NotImplementedError unless a subclass says it."""
        raise NotImplementedError(f"{type(self).__name__} defines no call(inputs)")

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the result for inputs of `input_shape`, where None is any size; makes the weights."""
        return shape_of_result(self, input_shape)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a `build` that a user calls count as done."""
        super().__init_subclass__(**kwargs)
        build = cls.__dict__.get("build")
        if build is not None:
            told = takes_more_than_itself(build)

            @functools.wraps(build)
            def noted(self: Layer, input_shape: Any = (), *more: Any, **named: Any) -> None:
                build(self, *((input_shape, *more) if told else more), **named)
                self.built = True
                if self._constraints is not None:
                    self._constraints.check()

            cls.build = noted  # type: ignore[method-assign]

    def _build_for(self, inputs: Any) -> None:
        self.build(tf.nest.map_structure(lambda x: x.shape, inputs, none_is_leaf=False))

    def add_weight(
        self,
        name: Any = None,
        shape: Any = (),
        initializer: Any = "glorot_uniform",
        trainable: bool = True,
        dtype: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
    ) -> tf.Variable:
        """A new Variable of this layer.

        Parameters
        ----------
        name : str, optional
        shape : shape
        initializer : str or callable
            See :func:`tracejit.initializers.get`.
        trainable : bool
        dtype : dtype-like, optional
            By default the layer's.
        regularizer : str or callable, optional
            What the weight costs, found in :attr:`losses`.
        constraint : str or callable, optional
            What the weight is made after each step of an optimizer.
        """
        if name is not None and not isinstance(name, str):  # add_weight(shape, ...)
            name, shape = None, name
        check_size(tf.as_shape(shape), f"{name or 'a weight'} of {self!r}")
        made = self.__dict__.setdefault("_made", [])
        first, dtype = initializers.get(initializer), tf.as_dtype(dtype or self.dtype)
        whole = f"{self.name}/{name or f'weight_{len(made)}'}"
        if constraint is None and self._constraints is not None:
            constraint = self._constraints.of(name)
        short = self.compute_dtype != self.variable_dtype and not self._in_that_of_weights
        kind = kind_of_weight(short, constraint)
        variable = kind(lambda: first(tf.as_shape(shape), dtype=dtype), trainable, dtype=dtype, name=whole)
        if constraint is not None:
            variable.constraint = constraints.get(constraint)
        made.append(variable)
        if regularizer is not None:
            self.__dict__.setdefault("_regularized", []).append((variable, regularizers.get(regularizer)))
        return variable

    add_variable = add_weight  # its name before

    def add_loss(self, loss: Any) -> None:
        """Add the number `loss`, or a list of some, to the :attr:`losses` of the call that is being made."""
        outer = _outer.get()
        now = None if outer is None else outer.outermost
        before, added = self.__dict__.get("_added", (None, []))
        given = list(loss) if isinstance(loss, (list, tuple)) else [loss]
        object.__setattr__(self, "_added", (now, [*added, *given] if before is now else given))

    @property
    def losses(self) -> list[Any]:
        """What the weights cost by their regularizers, and what the last call has added, inner layers included."""
        last, losses = self.__dict__.get("_last_call"), list[Any]()
        for part in (self, *self.submodules):
            added = part.__dict__.get("_added", (None, []))
            losses += added[1] if added[0] is last else []
            losses += [cost(variable) for variable, cost in part.__dict__.get("_regularized", ())]
        return losses

    # ---- for users --------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The result for `inputs`, tensors or what they are made of; ``training`` says in which mode."""
        if "built" not in self.__dict__:
            raise TypeError(
                f"{type(self).__name__}.__init__ has not called super().__init__(){at_user_line()}"
            )
        if among(inputs, *args, *kwargs.values()):
            return record(self, (inputs, *args), kwargs)
        inputs = _as_inputs(inputs)
        if args and "training" in (names := self._positional()[: len(args)]):
            kwargs |= zip(names, args, strict=False)
            args = args[len(names) :]
        if not self.built:
            self._first_call = specs_of((inputs, *args), kwargs)
            self._build_for(inputs)
            self.built = True
        outer, training = _outer.get(), kwargs.pop("training", None)
        if training is None and outer is not None:
            training = outer.training
        if takes("training", type(self).call) and (training is not None or wants_training(type(self).call)):
            kwargs["training"] = bool(training) if training is None else training
        policy, mask = self.dtype_policy, masks_of(inputs)
        dtype = policy.variables if self._in_that_of_weights else policy.compute
        fits = inputs.__class__ is tf.Tensor and inputs.np_dtype is dtype.dtype
        if (not fits or args or kwargs) and self._casts_inputs:
            inputs, args, kwargs = _cast((inputs, args, kwargs), dtype)
        if mask is not None and takes("mask", type(self).call):
            kwargs.setdefault("mask", mask)
        call = outer if outer is not None and outer.training is training else _Call(training, outer)
        object.__setattr__(self, "_last_call", call.outermost)
        token = _outer.set(call)
        try:
            if dtype is policy.variables:
                result = self._called(inputs, args, kwargs)
            else:
                with tf.settings(weights_dtype=dtype.name):  # in which weights are read
                    result = self._called(inputs, args, kwargs)
        finally:
            _outer.reset(token)
        if dtype is not policy.compute:
            result = in_dtype(result, policy.compute)
        if "_result_shape" not in self.__dict__:
            object.__setattr__(self, "_result_shape", getattr(result, "shape", None))
        if mask is not None or type(self).compute_mask is not Layer.compute_mask:
            if (passed_on := self.compute_mask(inputs, mask)) is not None:
                give_mask(result, passed_on)
        return result

    def _positional(self) -> tuple[str, ...]:
        """The names of arguments that a call may give by position behind the inputs."""
        return positional(type(self).call)

    def _called(self, inputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = tf.autograph.convert(self.call) if tf.autograph.current_trace() is not None else self.call
        try:
            result = call(inputs, *args, **kwargs)
        except tf.ShapeError as error:
            if not hasattr(error, "__notes__"):  # of the layers around it the innermost tells
                error.add_note(self._what_it_was_given(inputs))
            raise
        if self.activity_regularizer is not None:
            for x in tf.nest.flatten(result, none_is_leaf=False):
                self.add_loss(tf.divide(self.activity_regularizer(x), _count_of(x)))
        return result

    def _what_it_was_given(self, inputs: Any) -> str:
        (given,), _ = specs_of((inputs,), {})
        (first, *_), _ = vars(self).get("_first_call", ((given,), {}))
        made = "" if str(first) == str(given) else f"; its weights were made for {first}"
        return f"in {type(self).__name__} {self.name!r}, called with {given}{made}"

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Which steps of the result for `inputs` count, where `mask`, a nest like these, says it of them; None: all."""
        return mask if self.supports_masking else None

    @property
    def variables(self) -> list[tf.Variable]:
        """Every Variable, as a list; those of optimizers and metrics that it holds are not its own."""
        return list(super().variables)

    @property
    def trainable_variables(self) -> list[tf.Variable]:
        """The trainable ones, as a list."""
        return list(super().trainable_variables)

    @property
    def non_trainable_variables(self) -> list[tf.Variable]:
        """The others, as a list."""
        return list(super().non_trainable_variables)

    @property
    def non_trainable_weights(self) -> list[tf.Variable]:
        """The others, as a list."""
        return self.non_trainable_variables

    # ---- among symbols ----------------------------------------------------------------------------------

    #: What it was called with, and what it gave, where that was an ``Input`` or what layers make of it.
    input: OfTheOnlyCall = OfTheOnlyCall()
    output: OfTheOnlyCall = OfTheOnlyCall()
    #: The shape of its result for a batch, ``(None, 10)``.
    output_shape: ShapeOfResult = ShapeOfResult()

    def note_symbols(self, node: Node) -> None:
        """Remember a call with symbols, `node`."""
        self.__dict__.setdefault("_nodes", []).append(node)
        object.__setattr__(self, "_result_shape", getattr(node.results, "shape", None))

    def ends(self) -> dict[str, Any]:
        """Its ``input`` and ``output``; without them, ``why`` there are none."""
        if "_nodes" not in self.__dict__ and "_holder" in self.__dict__:
            self._holder.ends()  # a Sequential, which calls it with symbols when one of them is asked for
        return ends_of(self.__dict__.get("_nodes", ()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_holder"}

    def shape_text(self) -> str:
        """The shape of its result for a batch, ``(None, 10)``; ``?`` before the first call."""
        shape = self.__dict__.get("_result_shape")
        return "?" if not shape else f"({', '.join(map(str, (None, *shape[1:])))}{'' if shape[1:] else ','})"

    @property
    def weights(self) -> list[tf.Variable]:
        """Every Variable, as a list."""
        return list(self.variables)

    @property
    def trainable_weights(self) -> list[tf.Variable]:
        """The trainable ones, as a list."""
        return list(self.trainable_variables)

    def get_weights(self) -> list[np.ndarray]:
        """The values of all Variables, in order."""
        return [np.array(v.array) for v in self.variables]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Give all Variables the new values `weights`, in order; ValueError where there are not as many."""
        variables = self.variables
        if len(weights) != len(variables):
            raise ValueError(f"{self.name} has {len(variables)} weights, got {len(weights)}{at_user_line()}")
        for variable, value in zip(variables, weights, strict=True):
            variable.assign(value)

    def count_params(self) -> int:
        """How many numbers the weights hold."""
        return sum(int(v.spec.size) for v in self.variables)

    def _leaves(self) -> Iterator[Any]:
        return (leaf for leaf in super()._leaves() if getattr(leaf, "holds_weights", True))

    def _attributes(self) -> list[tuple[str, Any]]:
        """Attributes as they were made; weights that none of them holds come last."""
        own = [(k, v) for k, v in vars(self).items() if k not in self._unsearched]
        held = {id(v) for _, v in own}
        others = [v for v in self.__dict__.get("_made", ()) if id(v) not in held]
        return own + [(f"weight_{i}", v) for i, v in enumerate(others)]

    def _axis_size(self, input_shape: Any, axis: int = -1) -> int:
        """A size that weights are made from: it must be known."""
        size = input_shape[axis] if input_shape else None
        if not isinstance(size, (int, np.integer)):
            raise tf.ShapeError(
                f"{self.name} makes its weights from axis {axis} of its input, whose size must be known; the "
                f"shape is {tuple(input_shape)}{at_user_line()}"
            )
        return int(size)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data; :meth:`from_config` takes them.

        A subclass of a program's own need not define it where its arguments are data and layers; where it does, it adds
        them to those of ``super().get_config()``: trainable, name and dtype.

        Raises
        ------
        NotDescribed
            Where an argument is none that data can stand for, such as a Python function.

        Examples
        --------
        >>> import tracejit as tf
        >>> config = tf.layers.Dense(3, activation="relu").get_config()
        >>> config["units"], config["activation"], tf.layers.Dense.from_config(config).units
        (3, 'relu', 3)
        """
        config = super().get_config()
        if "dtype" in config:
            config["dtype"] = self.dtype_policy.name
        return {name: _plain_name(value) if "activation" in name else value for name, value in config.items()}

    def state_besides(self, config: dict[str, Any]) -> dict[str, Any]:
        """What the arguments in `config` do not say: ``name`` and ``trainable`` of a layer that takes neither."""
        state = {"name": self.name, "trainable": self.trainable}
        if self.compute_dtype != self.variable_dtype and "dtype" not in config:
            state["dtype_policy"] = self.dtype_policy.name
        return {key: value for key, value in state.items() if key not in config}

    def take_state(self, state: Any) -> None:
        """Be called and frozen as the `state` from :meth:`state_besides` says."""
        self._name = state.get("name", self.name)
        self.trainable = state.get("trainable", self.trainable)
        if "dtype_policy" in state:
            self.dtype_policy = policy_of(state["dtype_policy"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__dict__.get('_name', '?')!r}>"


def _plain_name(value: Any) -> Any:
    """The name alone of an activation that has one."""
    if not isinstance(value, dict) or value.get("class_name") != "function" or value["module"] is None:
        return value
    return value["config"] if value["config"] in activations.names() else value


def specs_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments of a call with specs in place of tensors."""
    given = {name: value for name, value in kwargs.items() if name != "training"}

    def spec(x: Any) -> Any:
        return x.spec if isinstance(x, (tf.Tensor, tf.Variable)) else x

    mapped = tf.nest.map_structure(spec, (args, given), none_is_leaf=True)
    return mapped[0], mapped[1]


def _as_inputs(inputs: Any) -> Any:
    """A tensor, or a nest of them; a list of nothing but numbers is one tensor."""
    leaves = tf.nest.flatten(inputs, none_is_leaf=False)
    if not isinstance(inputs, dict) and all(isinstance(x, (bool, int, float, complex)) for x in leaves):
        return tf.convert_to_tensor(inputs)
    return tf.nest.map_structure(tf.convert_to_tensor, inputs, none_is_leaf=False)


def _count_of(x: Any) -> Any:
    """How many examples a result is of."""
    return tf.cast(tf.shape(x)[0], dtype=x.dtype) if len(x.shape) else 1.0


def _cast(nest: Any, dtype: tf.DType) -> Any:
    """Arguments of a call in the dtype that it computes in."""

    def converted(x: Any) -> Any:
        y = as_computed(x, dtype)
        if y is not x:
            give_mask(y, mask_of(x))
        return y

    return tf.nest.map_structure(converted, nest, none_is_leaf=False)


def is_training(training: Any) -> bool:
    """What `call` was told, as a bool; None, from nobody, is inference."""
    if isinstance(training, (tf.Tensor, tf.Variable)):
        raise TypeError(f"training is True or False, not a tensor{at_user_line()}")
    return bool(training)
