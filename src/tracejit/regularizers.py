"""What large weights cost: ``tracejit.keras.regularizers``. Names only."""

from .library.regularizers import L1, L1L2, L2, get

l1, l2, l1_l2 = L1, L2, L1L2
