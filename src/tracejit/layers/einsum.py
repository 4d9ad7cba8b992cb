"""EinsumDense: a dense layer between any axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..nn import activations
from .layer import Layer


class EinsumDense(Layer):
    """``activation(einsum(equation, inputs, kernel) + bias)``.

    Parameters
    ----------
    equation : str
        As of :func:`tracejit.einsum` for two operands, with a result: ``"abc,cd->abd"``. The inputs may begin or end
        with ``...``, and so does the result.
    output_shape : int or sequence of int
        Sizes of the result without that of the examples, or without axes of ``...`` at its beginning; None for one that
        is the input's.
    activation : str or callable, optional
    bias_axes : str, optional
        The letters of the result that the bias has; no bias without.
    kernel_initializer, bias_initializer : str or callable
    kernel_regularizer, bias_regularizer : str or callable, optional
    **options
        As for :class:`Layer`.

    Raises
    ------
    ValueError
        For an equation of another form, an axis of the kernel whose size is not said, or letters of the bias that the
        result does not have.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.EinsumDense("abc,cde->abde", output_shape=(None, 4, 5), bias_axes="de")
    >>> print(layer(tf.ones((2, 7, 3))).shape, layer.kernel.shape, layer.bias.shape)
    (2, 7, 4, 5) (3, 4, 5) (4, 5)
    >>> print(tf.layers.EinsumDense("...x,xy->...y", output_shape=6)(tf.ones((2, 7, 3))).shape)
    (2, 7, 6)
    """

    def __init__(
        self,
        equation: str,
        output_shape: int | Sequence[int | None],
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.equation = equation
        self.partial_output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.activation: Callable[..., tf.Tensor] = activations.get(activation)
        self.bias_axes, self.supports_masking = bias_axes, True
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel: tf.Variable | Any = None  # before it is built
        self.bias: tf.Variable | Any = None  # before it is built

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias; ValueError where the equation does not fit."""
        given, kernel, result = _parts(self.equation)
        known = _sizes(given, tuple(input_shape))
        said = self.partial_output_shape if given.startswith("...") else (None, *self.partial_output_shape)
        letters = result.replace("...", "")
        if len(letters) != len(said):
            raise ValueError(
                f"{self.equation!r} has a result of {len(letters)} axes, output_shape={self.partial_output_shape} is "
                f"of {len(said)}, those of the examples included{at_user_line()}"
            )
        made = {
            letter: known.get(letter) if size is None else size
            for letter, size in zip(letters, said, strict=True)
        }
        sizes = {**made, **known}
        shape = tuple(self._known(sizes.get(letter), letter) for letter in kernel)
        self.kernel = self.add_weight(
            "kernel", shape, self.kernel_initializer, regularizer=self.kernel_regularizer
        )
        if self.bias_axes is not None:
            elided = len(input_shape) - len(given.replace("...", "")) if result.endswith("...") else 0
            shape = self._shape_of_bias(letters, sizes, elided)
            self.bias = self.add_weight(
                "bias", shape, self.bias_initializer, regularizer=self.bias_regularizer
            )

    def _shape_of_bias(self, letters: str, sizes: dict[str, Any], elided: int) -> tuple[int, ...]:
        axes = set(self.bias_axes or "")
        if not axes or not axes <= set(letters):
            raise ValueError(
                f"bias_axes are letters of the result {letters!r}, got {self.bias_axes!r}{at_user_line()}"
            )
        first = min(letters.index(letter) for letter in axes)
        shape = [self._known(sizes.get(x), x) if x in axes else 1 for x in letters[first:]]
        return (*shape, *[1] * elided)

    def _known(self, size: Any, letter: str) -> int:
        if not isinstance(size, int):
            raise ValueError(
                f"{self.name} makes weights for axis {letter!r} of {self.equation!r}, whose size is not known"
                f"{at_user_line()}"
            )
        return size

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the product, and the bias."""
        y = tf.einsum(self.equation, inputs, self.kernel)
        return self.activation(y if self.bias is None else y + self.bias)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        return {**super().get_config(), "output_shape": list(self.partial_output_shape)}


def _parts(equation: str) -> tuple[str, str, str]:
    """Axes of the inputs, of the kernel and of the result."""
    operands, arrow, result = equation.replace(" ", "").partition("->")
    parts = (*operands.split(","), result)
    plain = [part.removeprefix("...").removesuffix("...") for part in parts]
    wrong = not arrow or len(parts) != 3 or any(not part.isalpha() for part in plain) or "..." in parts[1]
    if wrong or [parts[0].find("...") > 0, "..." in parts[0]] != [result.find("...") > 0, "..." in result]:
        raise ValueError(
            f"an equation is as 'ab,bc->ac', '...ab,bc->...ac' or 'ab...,bc->ac...', got {equation!r}{at_user_line()}"
        )
    return parts[0], parts[1], result


def _sizes(letters: str, shape: tuple[Any, ...]) -> dict[str, Any]:
    """The size of each axis of the inputs that has a letter."""
    named = letters.replace("...", "")
    if len(shape) < len(named) or ("..." not in letters and len(shape) != len(named)):
        raise tf.ShapeError(f"the axes {letters!r} are not those of {shape}{at_user_line()}")
    seen = shape[-len(named) :] if letters.startswith("...") else shape[: len(named)]
    return dict(zip(named, seen, strict=True))
