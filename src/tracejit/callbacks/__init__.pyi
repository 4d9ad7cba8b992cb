"""What happens between batches and epochs: ``tracejit.callbacks``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.callbacks.callback import Callback as Callback
from tracejit.callbacks.callback import CallbackList as CallbackList
from tracejit.callbacks.callback import History as History
from tracejit.callbacks.callback import LambdaCallback as LambdaCallback
from tracejit.callbacks.monitoring import EarlyStopping as EarlyStopping
from tracejit.callbacks.monitoring import ModelCheckpoint as ModelCheckpoint
from tracejit.callbacks.rates import LearningRateScheduler as LearningRateScheduler
from tracejit.callbacks.rates import ReduceLROnPlateau as ReduceLROnPlateau
from tracejit.callbacks.reporting import CSVLogger as CSVLogger
from tracejit.callbacks.reporting import ProgbarLogger as ProgbarLogger
from tracejit.callbacks.reporting import TensorBoard as TensorBoard
from tracejit.callbacks.reporting import TerminateOnNaN as TerminateOnNaN
