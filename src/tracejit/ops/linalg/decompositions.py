"""Singular values, eigenvalues, QR factors, pseudoinverses and exponentials of matrices; LAPACK computes them.

A derivative is infinite or NaN where it does not exist: of singular vectors and eigenvectors whose values are equal.
The phases of complex vectors are LAPACK's choice: reverse mode refuses what depends on them; forward mode, which does
not see what becomes of them, gives the tangents of the vectors that turn least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch, by_rows
from ...core.autodiff.scattered import dense
from ...core.dim import Size, minimum, product, same
from ...core.errors import FailedComputation, GradientError, at, own_location, require
from ...core.op import OPS, Joint, defop, floating, ops
from ...core.spec import TensorSpec, shape_text
from ...core.tracing.dispatch import Record
from ...core.tracing.loop_form import INDEX
from ..arrays.shape import expand_dims
from ..batch import by_lanes
from ..lowering import Callback, Expand
from .products import swapped
from .stacks import KNOWN, each

PHASES = "a derivative is taken of vectors whose phases are arbitrary, through something that depends on these phases"


def _matrices(a: TensorSpec) -> tuple[tuple[Size, ...], Size, Size]:
    """Leading sizes, rows and columns."""
    require(len(floating(a).shape) >= 2, f"takes matrices, got {shape_text(a.shape)}")
    return a.shape[:-2], a.shape[-2], a.shape[-1]


def _square(a: TensorSpec) -> tuple[tuple[Size, ...], Size]:
    lead, m, n = _matrices(a)
    require(same(m, n), f"takes square matrices, got {shape_text(a.shape)}")
    return lead, n


def _real(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"float{4 * dtype.itemsize}") if dtype.kind == "c" else dtype


def _complex(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind == "c" else np.dtype(f"complex{16 * dtype.itemsize}")


def _by_lapack(
    function: Callable[..., Any], specs: Callable[..., Any], **fixed: Any
) -> Callable[..., tuple[np.ndarray, ...]]:
    """The kernel that calls `function`: NaN where an element is none or infinite, and the dtypes of the spec."""

    def kernel(a: np.ndarray, **attrs: Any) -> tuple[np.ndarray, ...]:
        found = specs(TensorSpec(a.shape, a.dtype), **attrs)
        wanted = found if isinstance(found, tuple) else (found,)
        if 0 in a.shape:
            results: Sequence[Any] = [np.zeros(s.shape, s.dtype) for s in wanted]
        elif not np.isfinite(a).all():
            results = [np.full(s.shape, np.nan, s.dtype) for s in wanted]
        else:
            try:
                results = function(a, **fixed, **attrs)
            except np.linalg.LinAlgError as error:
                raise FailedComputation(str(error)) from None
        arrays = results if isinstance(results, (tuple, list)) else (results,)
        whole = [np.asarray(x, s.dtype) for x, s in zip(arrays, wanted, strict=True)]
        return tuple(whole) if isinstance(found, tuple) else whole[0]  # type: ignore[return-value]

    return kernel


# ---- what the rules share -------------------------------------------------------------------------------


def _diagonal(v: Any, dtype: np.dtype) -> Any:
    """Vectors in the last axis as diagonal matrices."""
    v = ops.cast(v, dtype=dtype)
    return ops.where(_on_diagonal(v.shape[-1]), expand_dims(v, -1), ops.cast(0.0, dtype=dtype))


def _on_diagonal(n: Size) -> Any:
    here = ops.iota(size=n, dtype=INDEX.dtype)
    return ops.equal(expand_dims(here, 1), here)


def _diagonal_of(a: Any) -> Any:
    """The diagonals of square matrices, as vectors in the last axis."""
    return ops.reduce_sum(ops.where(_on_diagonal(a.shape[-1]), a, 0.0), axis=(len(a.shape) - 1,))


def _over_gaps(a: Any, values: Any) -> Any:
    """``a[i, j] / (values[j] - values[i])`` off the diagonal, and 0 on it; linear in `a`, as forward mode needs it."""
    gaps = ops.subtract(expand_dims(values, -2), expand_dims(values, -1))
    on = _on_diagonal(a.shape[-1])
    return ops.where(on, 0, ops.divide(a, ops.cast(ops.where(on, 1, gaps), dtype=a.dtype)))


def _columns(a: Any, factors: Any) -> Any:
    """Each column times its factor."""
    return ops.multiply(a, expand_dims(ops.cast(factors, dtype=a.dtype), -2))


def _rows(a: Any, factors: Any) -> Any:
    """Each row times its factor."""
    return ops.multiply(a, expand_dims(ops.cast(factors, dtype=a.dtype), -1))


def _outside(a: Any, basis: Any) -> Any:
    """What of the columns of `a` lies outside of the span of those of `basis`."""
    return ops.subtract(a, ops.matmul(basis, ops.matmul(swapped(basis), a)))


def _total(terms: Sequence[Any]) -> Any:
    whole = None
    for term in terms:
        whole = term if whole is None else ops.add(whole, term)
    return whole


def _require_no_phase(turn: Any, scale: Any) -> None:
    """RuntimeError where the loss changes as the phase of a vector does."""
    if 0 in turn.shape:
        return
    limit = ops.multiply(
        ops.add(ops.reduce_max(ops.abs(scale)), 1.0), float(np.sqrt(np.finfo(turn.dtype).eps))
    )
    holds = ops.less_equal(ops.reduce_max(ops.abs(turn)), limit)
    holds = ops.logical_or(
        holds, ops.logical_not(ops.less(limit, np.inf))
    )  # what is lost to a NaN is no mistake
    ops.check(ops.cast(holds, dtype=turn.dtype), message=PHASES, error="RuntimeError")


# ---- singular values ------------------------------------------------------------------------------------


def _svd_specs(a: TensorSpec, *, full_matrices: bool = False) -> tuple[TensorSpec, ...]:
    lead, m, n = _matrices(a)
    k = minimum(m, n)
    u, v = (m, n) if full_matrices else (k, k)
    return a.with_shape((*lead, m, u)), TensorSpec((*lead, k), _real(a.dtype)), a.with_shape((*lead, v, n))


def _svd_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """The cotangent of ``U^H dA V`` between the vectors that are there, and that of what lies outside of them."""
    a, (u, s, vh) = record.inputs[0], record.outputs
    gu, gs_, gvh = [None if g is None else dense(g) for g in gs]
    m, n = a.shape[-2:]
    if record.attrs.get("full_matrices") and m != n and not (gu is None and gvh is None):
        raise GradientError(
            f"singular vectors beyond the first {min(m, n)} of {a.spec} are arbitrary and have no derivative: "
            f"take full_matrices=False{at(own_location())}"
        )
    if record.attrs.get("full_matrices"):
        k = minimum(m, n)
        lead = [(0, d, 1) for d in a.shape[:-2]]
        u = ops.slice(u, slices=(*lead, (0, m, 1), (0, k, 1)))
        vh = ops.slice(vh, slices=(*lead, (0, k, 1), (0, n, 1)))
    v, inner, outer = swapped(vh), [], []
    squares = ops.square(s)
    if gs_ is not None:
        inner.append(_diagonal(gs_, a.dtype))
    if gu is not None:
        turned = ops.matmul(swapped(u), gu)
        j = _over_gaps(turned, squares)
        inner.append(_columns(ops.add(j, swapped(j)), s))
        if m > n:
            outer.append(ops.matmul(_columns(_outside(gu, u), _inverse(s)), vh))
    if gvh is not None:
        gv = swapped(gvh)
        turned_v = ops.matmul(vh, gv)
        j = _over_gaps(turned_v, squares)
        inner.append(_rows(ops.add(j, swapped(j)), s))
        if n > m:
            outer.append(ops.matmul(u, swapped(_columns(_outside(gv, v), _inverse(s)))))
    if a.dtype.kind == "c" and not (gu is None and gvh is None):
        of_u = _zero(s) if gu is None else ops.imag(_diagonal_of(turned))
        of_v = _zero(s) if gvh is None else ops.imag(_diagonal_of(turned_v))
        _require_no_phase(ops.add(of_u, of_v), ops.add(ops.abs(of_u), ops.abs(of_v)))
        phase = ops.divide(ops.subtract(of_u, of_v), ops.multiply(s, 2.0))
        inner.append(_diagonal(ops.complex(_zero(s), phase), a.dtype))
    between = ops.matmul(ops.matmul(u, _total(inner)), vh)
    return [_total([between, *outer])]


def _zero(x: Any) -> Any:
    return ops.multiply(x, 0.0)


def _inverse(s: Any) -> Any:
    return ops.divide(1.0, s)


def _svd(a: np.ndarray, *, full_matrices: bool = False) -> Any:
    return np.linalg.svd(a, full_matrices)


@defop(
    vjp=Joint(_svd_vjp),
    kernel=_by_lapack(_svd, _svd_specs),
    lower=Callback(),
    batch=lambda batch, a, *, full_matrices=False: ops.svd(a, full_matrices=full_matrices),
    traits=("expensive", "multiple", "may_fail"),
)
def svd(a: TensorSpec, *, full_matrices: bool = False) -> tuple[TensorSpec, ...]:
    """U, the singular values in descending order, and V^H, with ``U @ diag(s) @ V^H = a``, of matrices ``(..., m, n)``.

    Floats or complex numbers; the values are real. U and V^H have as many vectors as there are values, or are square
    with `full_matrices`. NaN where an element is none or infinite; ShapeError for vectors.
    """
    return _svd_specs(a, full_matrices=full_matrices)


# ---- eigenvalues ----------------------------------------------------------------------------------------


def _eigh_specs(a: TensorSpec, *, lower: bool = True) -> tuple[TensorSpec, ...]:
    lead, n = _square(a)
    return TensorSpec((*lead, n), _real(a.dtype)), a


def _eigh(a: np.ndarray, *, lower: bool = True) -> Any:
    return tuple(np.linalg.eigh(a, "L" if lower else "U"))


def _eigh_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """The cotangent of ``V^H dA V``; that of the triangle that is read has what the other one would have too."""
    (a,), (w, v) = record.inputs, record.outputs
    gw, gv = [None if g is None else dense(g) for g in gs]
    inner = [] if gw is None else [_diagonal(gw, a.dtype)]
    if gv is not None:
        turned = ops.matmul(swapped(v), gv)
        if a.dtype.kind == "c":
            _require_no_phase(ops.imag(_diagonal_of(turned)), turned)
        inner.append(_over_gaps(turned, w))
    whole = ops.matmul(ops.matmul(v, _total(inner)), swapped(v))
    number = ops.iota(size=a.shape[-1], dtype=INDEX.dtype)
    row = expand_dims(number, 1)
    read = ops.greater(row, number) if record.attrs.get("lower", True) else ops.less(row, number)
    twice = ops.add(whole, swapped(whole))
    on = whole if a.dtype.kind != "c" else ops.cast(ops.real(whole), dtype=a.dtype)
    return [ops.where(read, twice, ops.where(ops.equal(row, number), on, ops.cast(0.0, dtype=a.dtype)))]


@defop(
    vjp=Joint(_eigh_vjp),
    kernel=_by_lapack(_eigh, _eigh_specs),
    lower=Callback(),
    batch=lambda batch, a, *, lower=True: ops.eigh(a, lower=lower),
    traits=("expensive", "multiple", "may_fail"),
)
def eigh(a: TensorSpec, *, lower: bool = True) -> tuple[TensorSpec, ...]:
    """Eigenvalues in ascending order and, as columns, eigenvectors of symmetric or Hermitian matrices ``(..., n, n)``.

    Only the `lower` triangle is read, or only the upper one, and has the gradient. Floats or complex numbers; the
    values are real. NaN where an element is none or infinite; ShapeError for matrices that are not square.
    """
    return _eigh_specs(a, lower=lower)


def _eig_specs(a: TensorSpec) -> tuple[TensorSpec, ...]:
    lead, n = _square(a)
    return TensorSpec((*lead, n), _complex(a.dtype)), TensorSpec((*lead, n, n), _complex(a.dtype))


def _solved(a: Any, b: Any) -> Any:
    """The solutions of complex equations, of stacks one by one."""
    lead = a.shape[:-2]
    if not lead:
        return ops.solve(a, b)
    flat = [ops.reshape(x, shape=(product(lead), *x.shape[-2:])) for x in (a, b)]
    (x,) = by_rows(OPS["solve"], Batch(product(lead), (True, True)), flat, {})
    return ops.reshape(x, shape=b.shape)


def _eig_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """Boeddeker et al., On the computation of complex-valued gradients, 2017: of vectors of length 1."""
    (a,), (w, v) = record.inputs, record.outputs
    gw, gv = [None if g is None else dense(g) for g in gs]
    inner = [] if gw is None else [_diagonal(gw, w.dtype)]
    if gv is not None:
        turned = ops.matmul(swapped(v), gv)
        along = _diagonal_of(turned)
        _require_no_phase(ops.imag(along), turned)
        kept = ops.cast(ops.real(along), dtype=w.dtype)
        rest = ops.subtract(turned, _columns(ops.matmul(swapped(v), v), kept))
        inner.append(_over_gaps(rest, ops.conj(w)))
    whole = _solved(swapped(v), ops.matmul(_total(inner), swapped(v)))
    return [whole if a.dtype.kind == "c" else ops.real(whole)]


@defop(
    vjp=Joint(_eig_vjp),
    kernel=each(_by_lapack(lambda a: tuple(np.linalg.eig(a)), _eig_specs)),
    lower=Callback(),
    batch=lambda batch, a: ops.eig(a),
    traits=("expensive", "multiple", "may_fail"),
)
def eig(a: TensorSpec) -> tuple[TensorSpec, ...]:
    """Eigenvalues and, as columns of length 1, eigenvectors of square matrices ``(..., n, n)``; all complex.

    They stand in LAPACK's order. NaN for a matrix where an element is none or infinite; ShapeError for other matrices.
    """
    return _eig_specs(a)


# ---- QR factors -----------------------------------------------------------------------------------------


def _qr_specs(a: TensorSpec, *, complete: bool = False) -> tuple[TensorSpec, ...]:
    lead, m, n = _matrices(a)
    require(not lead, f"takes one matrix, got {shape_text(a.shape)}")
    k = m if complete else minimum(m, n)
    return a.with_shape((m, k)), a.with_shape((k, n))


def _qr(a: np.ndarray, *, complete: bool = False) -> Any:
    return tuple(np.linalg.qr(a, "complete" if complete else "reduced"))


def _qr_lowered(a: Any, *, complete: bool = False) -> list[Any]:
    """By the compiler's kernel; NaN where an element is none or infinite."""
    specs = _qr_specs(a.spec, complete=complete)
    if 0 in a.shape:
        return [ops.fill(shape=s.shape, value=0.0, dtype=s.dtype) for s in specs]
    used = a if a.dtype in KNOWN else ops.cast(a, dtype=np.dtype(np.float32))
    finite = ops.reduce_min(ops.less(ops.abs(used), np.inf), axis=(0, 1))
    factors = ops.qr_factor(used, columns=specs[0].shape[1])[:2]
    return [ops.cast(ops.where(finite, x, np.nan), dtype=a.dtype) for x in factors]


def _qr_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """Of tall matrices; the columns behind a square part of a wide one are ``Q^H`` times them, a product."""
    (a,), (q, r) = record.inputs, record.outputs
    gq, gr = [None if g is None else dense(g) for g in gs]
    m, n = a.shape
    if record.attrs.get("complete") and m > n:
        raise GradientError(
            f"the columns beyond the first {n} of the factor Q of {a.spec} are arbitrary and have no derivative: "
            f"take the reduced factors{at(own_location())}"
        )
    gq = _zero(q) if gq is None else gq
    gr = _zero(r) if gr is None else gr
    if m >= n:
        gq, q, gr, r = _cut(gq, m, n), _cut(q, m, n), _cut(gr, n, n), _cut(r, n, n)
        return [_tall(gq, gr, q, r)]
    rest = ops.slice(a, slices=((0, m, 1), (m, n - m, 1)))
    of_rest = ops.slice(gr, slices=((0, m, 1), (m, n - m, 1)))
    gq, q, left, r = [_cut(x, m, m) for x in (gq, q, gr, r)]
    gq = ops.add(gq, ops.matmul(rest, swapped(of_rest)))
    return [ops.concat(_tall(gq, left, q, r), ops.matmul(q, of_rest), axis=1)]


def _cut(x: Any, rows: Size, columns: Size) -> Any:
    """The first rows and columns: what is the smaller of two sizes gets the name of the one that it is here."""
    return x if x.shape == (rows, columns) else ops.slice(x, slices=((0, rows, 1), (0, columns, 1)))


def _tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """Walter and Lehmann, Algorithmic differentiation of linear algebra functions, 2010."""
    inner = ops.subtract(ops.matmul(gr, swapped(r)), ops.matmul(swapped(q), gq))
    number = ops.iota(size=r.shape[0], dtype=INDEX.dtype)
    row = expand_dims(number, 1)
    zero = ops.cast(0.0, dtype=r.dtype)
    above = ops.where(ops.less(row, number), inner, zero)
    on = ops.where(ops.equal(row, number), inner, zero)
    if r.dtype.kind == "c":
        on = ops.cast(ops.real(on), dtype=r.dtype)
    whole = ops.add(ops.add(above, swapped(above)), on)
    of_a = swapped(ops.add(gq, ops.matmul(q, whole)))
    return swapped(ops.triangular_solve(r, of_a, lower=False))


@defop(
    vjp=Joint(_qr_vjp),
    kernel=_by_lapack(_qr, _qr_specs),
    lower=Expand(_qr_lowered),
    batch=by_lanes("qr"),
    traits=("expensive", "multiple", "complex_by_kernel"),
)
def qr(a: TensorSpec, *, complete: bool = False) -> tuple[TensorSpec, ...]:
    """Q with orthonormal columns and the upper triangular R with ``Q @ R = a``, of one matrix ``(m, n)``.

    Q has ``min(m, n)`` columns, or is square if `complete`. The derivative is known where the first columns of `a`
    are independent. NaN where an element is none or infinite; ShapeError for vectors.
    """
    return _qr_specs(a, complete=complete)


# ---- pseudoinverse and exponential ----------------------------------------------------------------------


def _pinv_specs(a: TensorSpec, *, rcond: float | None = None) -> TensorSpec:
    lead, m, n = _matrices(a)
    return a.with_shape((*lead, n, m))


def _pinv(a: np.ndarray, *, rcond: float | None = None) -> Any:
    least = np.finfo(a.dtype).eps * max(a.shape[-2:]) if rcond is None else rcond
    return np.linalg.pinv(a, rcond=least)


def _pinv_vjp(g: Any, y: Any, a: Any, *, rcond: float | None = None) -> Any:
    """Golub and Pereyra, 1973: for changes that leave the rank of `a` as it is."""
    yh, gh = swapped(y), swapped(g)
    first = ops.matmul(ops.matmul(yh, g), yh)
    second = ops.matmul(ops.matmul(ops.subtract(gh, ops.matmul(a, ops.matmul(y, gh))), y), yh)
    third = ops.matmul(yh, ops.matmul(y, ops.subtract(gh, ops.matmul(ops.matmul(gh, y), a))))
    return ops.add(ops.subtract(second, first), third)


@defop(
    vjp=(_pinv_vjp,),
    kernel=_by_lapack(_pinv, _pinv_specs),
    lower=Callback(),
    batch=lambda batch, a, *, rcond=None: ops.pinv(a, rcond=rcond),
    traits=("expensive", "may_fail"),
)
def pinv(a: TensorSpec, *, rcond: float | None = None) -> TensorSpec:
    """The pseudoinverse ``(..., n, m)`` of matrices; singular values below `rcond` times the largest one count as 0.

    Floats or complex numbers. NaN where an element is none or infinite; ShapeError for vectors.
    """
    return _pinv_specs(a, rcond=rcond)


#: Numerator coefficients of the Padé approximant of degree 13, and up to which norm it is exact to rounding.
_PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
        1.0,
    ),
)
_THETA = 5.371920351148152


def _expm(a: np.ndarray) -> np.ndarray:
    """Higham, The scaling and squaring method for the matrix exponential revisited, 2005."""
    size = np.abs(a).sum(-2).max()
    halvings = max(0, int(np.ceil(np.log2(size / _THETA)))) if size > _THETA else 0
    x = a.astype(np.result_type(a.dtype, np.float64)) / 2.0**halvings
    square, identity = x @ x, np.eye(a.shape[-1])
    powers = [identity, square, square @ square, square @ square @ square]
    even = sum(c * p for c, p in zip(_PADE[0:8:2], powers, strict=True)) + powers[3] @ sum(
        c * p for c, p in zip(_PADE[8:14:2], powers[1:], strict=True)
    )
    odd = sum(c * p for c, p in zip(_PADE[1:9:2], powers, strict=True)) + powers[3] @ sum(
        c * p for c, p in zip(_PADE[9:15:2], powers[1:], strict=True)
    )
    y = np.linalg.solve(even - x @ odd, even + x @ odd)
    for _ in range(halvings):
        y = y @ y
    return y


def _expm_vjp(g: Any, y: Any, a: Any) -> Any:
    """The derivative of the exponential at ``a^H`` in the direction `g`: a block of the exponential of a larger matrix.

    Najfeld and Havel, Derivatives of the matrix exponential and their computation, 1995.
    """
    turned, n, lead = swapped(a), a.shape[-1], [(0, d, 1) for d in a.shape[:-2]]
    axis = len(a.shape) - 1
    above = ops.concat(turned, g, axis=axis)
    below = ops.concat(_zero(turned), turned, axis=axis)
    whole = ops.expm(ops.concat(above, below, axis=axis - 1))
    return ops.slice(whole, slices=(*lead, (0, n, 1), (n, n, 1)))


def _expm_specs(a: TensorSpec) -> TensorSpec:
    _square(a)
    return a


@defop(
    vjp=(_expm_vjp,),
    kernel=_by_lapack(_expm, _expm_specs),
    lower=Callback(),
    batch=lambda batch, a: ops.expm(a),
    traits=("expensive", "may_fail"),
)
def expm(a: TensorSpec) -> TensorSpec:
    """The exponential of square matrices ``(..., n, n)``, floats or complex numbers: the sum of ``a**k / k!``.

    NaN where an element is none or infinite; ShapeError for matrices that are not square.
    """
    return _expm_specs(a)
