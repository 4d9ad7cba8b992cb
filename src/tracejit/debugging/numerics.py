"""Where the first NaN or infinity was made: switched on for a whole program."""

from __future__ import annotations

from ..core.settings import configure


def check_numerics_everywhere(enabled: bool = True) -> None:
    """Raise at the first op, forwards or backwards, that makes a NaN or an infinity of finite numbers.

    For the whole process, eagerly and in compiled functions, in loops, branches and derivatives of any order; it is
    ``tracejit.configure(nans=True)``, or ``TRACEJIT_NANS=1`` in the environment. ``with tracejit.settings(nans=True)``
    is for a block. Those that come from constants and arguments, as the ``-inf`` of masks, are let through.
    Compiled code costs little more; exported code is not concerned. For one tensor there is :func:`check_numerics`.

    Parameters
    ----------
    enabled : bool
        False: no longer.

    Raises
    ------
    FloatingPointError
        From then on, by the op: with its inputs and your line, or that whose gradient it is.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.check_numerics_everywhere()
    >>> try:
    ...     tf.sqrt(-1.0)
    ... except FloatingPointError as error:
    ...     print(str(error).splitlines()[0])
    sqrt made a NaN, of finite inputs: float32[] = -1.0
    >>> tf.debugging.check_numerics_everywhere(False)
    """
    configure(nans=bool(enabled))


def enable_check_numerics() -> None:
    """The same as ``check_numerics_everywhere()``: from then on FloatingPointError at the first NaN or infinity.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.enable_check_numerics()
    >>> try:
    ...     tf.math.log(-1.0)
    ... except FloatingPointError as error:
    ...     print(str(error).splitlines()[0])
    log made a NaN, of finite inputs: float32[] = -1.0
    >>> tf.debugging.disable_check_numerics()
    """
    check_numerics_everywhere()


def disable_check_numerics() -> None:
    """The same as ``check_numerics_everywhere(False)``.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.disable_check_numerics()
    >>> print(tf.math.log(-1.0))
    tf.Tensor(nan, shape=(), dtype=float32)
    """
    check_numerics_everywhere(False)
