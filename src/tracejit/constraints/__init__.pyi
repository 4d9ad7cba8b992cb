"""What weights are made after each step of an optimizer: ``tracejit.keras.constraints``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.constraints.constraint import Constraint as Constraint
from tracejit.constraints.constraint import MaxNorm as MaxNorm
from tracejit.constraints.constraint import MinMaxNorm as MinMaxNorm
from tracejit.constraints.constraint import NonNeg as NonNeg
from tracejit.constraints.constraint import UnitNorm as UnitNorm
from tracejit.constraints.constraint import deserialize as deserialize
from tracejit.constraints.constraint import get as get
from tracejit.constraints.constraint import max_norm as max_norm
from tracejit.constraints.constraint import min_max_norm as min_max_norm
from tracejit.constraints.constraint import non_neg as non_neg
from tracejit.constraints.constraint import serialize as serialize
from tracejit.constraints.constraint import unit_norm as unit_norm
