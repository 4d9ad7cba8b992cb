"""What a program may run into while it runs: the same exception whether eagerly or from machine code.

Machine code knows an exception by the name of a builtin one; here is the class that is raised for it.
"""

from __future__ import annotations

from .errors import OutOfRange, TracejitError


class FailedAssertion(TracejitError, AssertionError):
    """An assertion that does not hold.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.debugging.assert_positive([1.0, -1.0])
    ... except tf.errors.FailedAssertion as error:
    ...     print(str(error).splitlines()[0])
    Condition x > 0 did not hold at (1,), x = [1.0 -1.0]
    """


class FailedComputation(TracejitError, RuntimeError):
    """A computation that did not get where it should.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.linalg.inv([[1.0, 1.0], [1.0, 1.0]])
    ... except tf.errors.FailedComputation as error:
    ...     print(isinstance(error, RuntimeError))
    True
    """


class WrongNumber(TracejitError, ValueError):
    """A number for which what is computed means nothing."""


class UnsetVariable(TracejitError, UnboundLocalError):
    """A variable is read that nothing has set."""


#: By the name of the builtin exception.
FAILURES: dict[str, type[Exception]] = {
    "AssertionError": FailedAssertion,
    "IndexError": OutOfRange,
    "RuntimeError": FailedComputation,
    "UnboundLocalError": UnsetVariable,
    "ValueError": WrongNumber,
}
