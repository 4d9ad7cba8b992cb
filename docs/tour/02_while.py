# %% [markdown]
# # From `while` to a loop that runs backwards
#
# How a loop whose length nobody knows becomes one op, and its gradient another.

# %%
import tracejit as tj


@tj.function
def halved(x):
    while x > 1.0:
        x = x * 0.5
    return x


x = tj.constant(5.0)

# %% [markdown]
# ## Statements become functions
#
# `frontend/autograph/source/transform.py` makes functions of the condition and of the body, and a call of what decides
# when they run. Names that the loop changes are shared through the function's own cells.

# %%
print(halved.autograph_source())
#> def halved(x):
#>
#>     def _ag_test_12():
#>         return _ag.defined(x) > 1.0
#>
#>     def _ag_body_12():
#>         nonlocal x
#>         x = _ag.defined(x) * 0.5
#>     _ag.while_stmt(_ag_test_12, _ag_body_12, ('x',))
#>     return _ag.defined(x)

# %% [markdown]
# ## The loop op
#
# `while_stmt` (`frontend/autograph/operators.py`) asks the condition. It is a traced tensor, so what asking added is taken
# back, `frontend/autograph/flow/loops.py` says what goes round, and `frontend/regions/loop_builder.py` traces the body on
# symbols until the types are found, and adds one `loop` op: a carry, a body, a condition. Were the condition a Python
# bool, the loop would run in Python.

# %%
print(halved.graph(x))
#> graph halved(%0: float32[]) {
#>   %1: float32[], %2: int64[] = loop(%0) carries=1 rows=0 length=None counted=False reverse=False
#>     body body(%0: int64[], %1: float32[]) {
#>       %2: float32[] = constant() value=#b74a843fa49c2a8dc1de390e
#>       %3: float32[] = multiply(%1, %2)
#>       return %3
#>     }
#>     cond cond(%0: float32[]) {
#>       %1: float32[] = constant() value=#4edd794b6307293e6969e436
#>       %2: bool[] = greater(%0, %1)
#>       return %2
#>     }
#>   return %1
#> }

# %% [markdown]
# ## Its gradient
#
# The backward of a loop is a loop (`ops/control/loop.py`). In the form that is recorded, the first loop also returns
# the carry that each iteration was given: `kept=True`, one row per iteration, `t0` of them. The second goes over those rows
# in reverse; its body is the gradient of the body.

# %%
print(halved.gradient_graph(x))
#> graph halved_grad(%0: float32[], %1: float32[]) {
#>   %2: float32[], %3: int64[], %4: float32[t0] = loop(%0) carries=1 rows=0 length=None counted=False reverse=False kept=True
#>     body body(%0: int64[], %1: float32[]) {
#>       %2: float32[] = constant() value=#b74a843fa49c2a8dc1de390e
#>       %3: float32[] = multiply(%1, %2)
#>       return %3, %1
#>     }
#>     cond cond(%0: float32[]) {
#>       %1: float32[] = constant() value=#4edd794b6307293e6969e436
#>       %2: bool[] = greater(%0, %1)
#>       return %2
#>     }
#>   %5: float32[], %6: int64[] = loop(%3, %1, %4) carries=1 rows=1 length=None counted=True cond=None reverse=True
#>     body body_back(%0: int64[], %1: float32[], %2: float32[]) {
#>       %3: float32[] = constant() value=#b74a843fa49c2a8dc1de390e
#>       %4: float32[] = multiply(%2, %3)
#>       %5: float32[] = multiply(%1, %3)
#>       return %5
#>     }
#>   return %5
#> }

# %% [markdown]
# ## The program
#
# `compiler/lowering/control.py` makes a `while` of the op; a carry of one number is a `local`, which LLVM keeps in a
# register.

# %%
for line in halved.loops(x).splitlines():
    print(line.split(" @")[0])
#> program halved() -> ()
#>   input x0: float32[1] slot 0
#>   local r0: float32[1]
#>   local r3: bool[1]
#>   output b1: float32[1] slot 0
#>   if True
#>     once
#>       v0 = x0[0]
#>       r0[0] = v0
#>     loop n0 while v7 trips v8 at 0
#>     test:
#>       once
#>         v5 = r0[0]
#>         v6: bool = gt(v5, 0x1.0000000000000p+0)
#>         r3[0] = v6
#>       v7 = r3[0]
#>     do:
#>       once
#>         v2 = r0[0]
#>         v3: float32 = mul(v2, 0x1.0000000000000p-1)
#>         r0[0] = v3
#>     once
#>       v9 = r0[0]
#>       b1[0] = v9

# %%
with tj.GradientTape() as tape:
    tape.watch(x)
    y = halved(x)
print(y.numpy(), tape.gradient(y, x).numpy())
#> 0.625 0.125
