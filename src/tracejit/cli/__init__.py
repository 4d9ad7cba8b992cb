"""The command line: ``tracejit compile``, ``inspect``, ``verify``, the stages of a function, ``cache`` and ``info``.

What every start needs (`main`, `options`, `failures`) and `machine` load neither NumPy nor most of the package.
"""
