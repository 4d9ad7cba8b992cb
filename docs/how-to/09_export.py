# %% [markdown]
# # Export a function and its gradient
#
# A library that needs neither Python nor tracejit, for a program in C, Fortran, Rust, Julia or JavaScript.

# %%
import ctypes
import pathlib
import tempfile

import numpy as np

import tracejit as tf

# %% [markdown]
# ## Write it
#
# Each argument has a spec, its dtype and shape; `n` is any size, the same wherever it occurs. With `wrt` the library
# also computes the gradient with respect to that argument.


# %%
def misfit(x, w, y):
    return tf.reduce_mean((tf.reduce_sum(x * w, axis=1) - y) ** 2)


exported = tf.export(misfit, ["f64[n,3]", "f64[3]", "f64[n]"], name="misfit", wrt="w")
folder = pathlib.Path(tempfile.mkdtemp())
exported.write(folder / "libmisfit.so")
exported.write(folder / "misfit.h")
prototype = [line for line in (folder / "misfit.h").read_text().splitlines() if line.startswith("int32_t misfit(")]
print(len(prototype), "function")
#> 1 function

# %% [markdown]
# ## Call it
#
# This example uses `ctypes`; a C program includes the header and links the library. Sizes follow the arrays, and the
# last argument is scratch memory, whose size the library computes from the sizes.

# %%
library = ctypes.CDLL(str(folder / "libmisfit.so"))
rng = np.random.default_rng(0)
x, w, y = rng.normal(size=(20, 3)), rng.normal(size=3), rng.normal(size=20)
value, gradient = np.zeros(()), np.zeros(3)
pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, w, y, value, gradient)]
rows = ctypes.c_int64(len(x))
library.misfit_workspace.restype = ctypes.c_int64
work = ctypes.create_string_buffer(library.misfit_workspace(rows))
status = library.misfit(*pointers, rows, work)

expected = 2.0 * x.T @ (x @ w - y) / 20
print(status, np.allclose(value, np.mean((x @ w - y) ** 2)), np.allclose(gradient, expected))
#> 0 True True

# %% [markdown]
# ## Read it back
#
# `load` turns a file written by `save` into a compiled function again.

# %%
exported.save(folder / "misfit.tja")
again = tf.load(folder / "misfit.tja")
print(again.name)
#> misfit
