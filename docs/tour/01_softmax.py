# %% [markdown]
# # From softmax to one kernel
#
# One function through every stage of the compiler, each with its real text. The files named are where that stage lives;
# every name below `src/tracejit`.

# %%
import tracejit as tj


@tj.function
def softmax(x):
    e = tj.exp(x - tj.reduce_max(x, axis=1, keepdims=True))
    return e / tj.reduce_sum(e, axis=1, keepdims=True)


x = tj.constant([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])

# %% [markdown]
# ## Python in, Python out
#
# The source is rewritten so that calls convert what they call (`frontend/autograph/source/`). There is no control flow
# here, so nothing else changes.

# %%
print(softmax.autograph_source())
#> def softmax(x):
#>     e = _ag.callee(tj.exp)(x - _ag.callee(tj.reduce_max)(x, axis=1, keepdims=True))
#>     return e / _ag.callee(tj.reduce_sum)(e, axis=1, keepdims=True)

# %% [markdown]
# ## The graph
#
# Running that function on symbolic tensors gives a graph: every op call goes through `apply`
# (`core/tracing/dispatch.py`), where a `Trace` adds a node (`core/tracing/trace.py`). Shapes and dtypes come from the
# op's shape rule. `core/ir/text.py` prints it, and reads it back.

# %%
print(softmax.graph(x))
#> graph softmax(%0: float32[2,3]) {
#>   %1: float32[2] = reduce_max(%0) axis=(1)
#>   %2: float32[2,1] = reshape(%1) shape=(2, 1)
#>   %3: float32[2,3] = subtract(%0, %2)
#>   %4: float32[2,3] = exp(%3)
#>   %5: float32[2] = reduce_sum(%4) axis=(1)
#>   %6: float32[2,1] = reshape(%5) shape=(2, 1)
#>   %7: float32[2,3] = divide(%4, %6)
#>   return %7
#> }

# %% [markdown]
# ## The gradient, as a graph
#
# The nodes are records; `core/autodiff/backprop.py` walks them backwards and calls each op's derivative, which is
# written with ops and so becomes nodes again. The second input is the cotangent. Nothing is optimised yet.

# %%
print(softmax.gradient_graph(x))
#> graph softmax_grad(%0: float32[2,3], %1: float32[2,3]) {
#>   %2: float32[2] = reduce_max(%0) axis=(1)
#>   %3: float32[2,1] = reshape(%2) shape=(2, 1)
#>   %4: float32[2,3] = subtract(%0, %3)
#>   %5: float32[2,3] = exp(%4)
#>   %6: float32[2] = reduce_sum(%5) axis=(1)
#>   %7: float32[2,1] = reshape(%6) shape=(2, 1)
#>   %8: float32[2,3] = divide(%5, %7)
#>   %9: float32[] = constant() value=#4edd794b6307293e6969e436
#>   %10: float32[2,1] = divide(%9, %7)
#>   %11: float32[2,3] = multiply(%1, %10)
#>   %12: float32[] = constant() value=#a003cf64781935012fb1af12
#>   %13: float32[2,1] = divide(%12, %7)
#>   %14: float32[2,3] = multiply(%8, %13)
#>   %15: float32[2,3] = multiply(%1, %14)
#>   %16: float32[2] = reduce_sum(%15) axis=(1)
#>   %17: float32[2,1] = reshape(%16) shape=(2, 1)
#>   %18: float32[2] = reshape(%17) shape=(2)
#>   %19: float32[2,1] = reshape(%18) shape=(2, 1)
#>   %20: float32[2,3] = broadcast_to(%19) shape=(2, 3)
#>   %21: float32[2,3] = add(%11, %20)
#>   %22: float32[2,3] = multiply(%21, %5)
#>   %23: float32[2,3] = negative(%22)
#>   %24: float32[2] = reduce_sum(%23) axis=(1)
#>   %25: float32[2,1] = reshape(%24) shape=(2, 1)
#>   %26: float32[2] = reshape(%25) shape=(2)
#>   %27: float32[2,1] = reshape(%26) shape=(2, 1)
#>   %28: float32[2,3] = broadcast_to(%27) shape=(2, 3)
#>   %29: float32[2,1] = reshape(%2) shape=(2, 1)
#>   %30: float32[2,3] = broadcast_to(%29) shape=(2, 3)
#>   %31: bool[2,3] = equal(%0, %30)
#>   %32: float32[2,3] = cast(%31) dtype=dtype(float32)
#>   %33: float32[2] = reduce_sum(%32) axis=(1)
#>   %34: float32[2,1] = reshape(%33) shape=(2, 1)
#>   %35: float32[2,3] = broadcast_to(%34) shape=(2, 3)
#>   %36: float32[2,3] = divide(%32, %35)
#>   %37: float32[2,3] = multiply(%28, %36)
#>   %38: float32[2,3] = add(%22, %37)
#>   return %38
#> }

# %% [markdown]
# ## Loops over memory
#
# After the passes on graphs (`compiler/graph/`), each node becomes a nest of loops, a view, or a structure
# (`compiler/lowering/nodes.py`); here `reshape` and broadcasting cost nothing. Then the passes on loop programs run
# (`compiler/loopir/passes/`): `fuse` joins nests over the same axes, so that `exp` is computed in the nest that sums,
# and one temporary remains. What stands behind `@` in a nest's line is its schedule, which depends on the processor.

# %%
for line in softmax.loops(x).splitlines():
    print(line.split(" @")[0])
#> program softmax() -> (2, 3)
#>   workspace 192
#>   input x0: float32[6] slot 0
#>   temp b0: float32[2] at 0
#>   temp b2: float32[6] at 64
#>   temp b3: float32[2] at 128
#>   output b4: float32[6] slot 0
#>   for i0 < 2, i1 < 3 reduce with a0: float32 = -inf
#>     v0 = x0[(3)*i0 + i1]
#>     a0 <- max(v0)
#>   then:
#>     b0[i0] = a0
#>   for i2 < 2, i3 < 3 reduce with a1: float32 = 0x0.0p+0
#>     v1 = x0[(3)*i2 + i3]
#>     v2 = b0[i2]
#>     v3: float32 = sub(v1, v2)
#>     v4: float32 = exp(v3)
#>     b2[(3)*i2 + i3] = v4
#>     a1 <- add(v4)
#>   then:
#>     b3[i2] = a1
#>   for i6 < 2, i7 < 3
#>     v6 = b2[(3)*i6 + i7]
#>     v7 = b3[i6]
#>     v8: float32 = div(v6, v7)
#>     b4[(3)*i6 + i7] = v8

# %% [markdown]
# ## Machine code
#
# `compiler/codegen/` writes LLVM text with explicit vectors, one function per kernel and one entry; the three nests are
# one kernel. `compiler/codegen/llvm.py` makes an object of it, which `runtime/objects.py` loads.

# %%
text = softmax.llvm(x)
print(sum(line.startswith("define internal void @.k") for line in text.splitlines()), "kernel")
#> 1 kernel
print([line.split("(")[0] for line in text.splitlines() if line.startswith("define i32")])
#> ['define i32 @"softmax"']
print(softmax(x))
#> tf.Tensor(
#> [[0.09003057 0.24472846 0.6652409 ]
#>  [0.33333334 0.33333334 0.33333334]], shape=(2, 3), dtype=float32)
