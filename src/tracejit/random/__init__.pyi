"""Random numbers: ``tracejit.random``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.random.generators import Generator as Generator
from tracejit.random.generators import categorical as categorical
from tracejit.random.generators import get_global_generator as get_global_generator
from tracejit.random.generators import normal as normal
from tracejit.random.generators import set_global_generator as set_global_generator
from tracejit.random.generators import set_seed as set_seed
from tracejit.random.generators import shuffle as shuffle
from tracejit.random.generators import truncated_normal as truncated_normal
from tracejit.random.generators import uniform as uniform
from tracejit.random.stateless import fold_in as fold_in
from tracejit.random.stateless import split as split
from tracejit.random.stateless import stateless_categorical as stateless_categorical
from tracejit.random.stateless import stateless_normal as stateless_normal
from tracejit.random.stateless import stateless_uniform as stateless_uniform
