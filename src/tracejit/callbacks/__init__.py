"""What happens between batches and epochs: ``tracejit.callbacks``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .callback import Callback, CallbackList, History, LambdaCallback
    from .monitoring import EarlyStopping, ModelCheckpoint
    from .rates import LearningRateScheduler, ReduceLROnPlateau
    from .reporting import CSVLogger, ProgbarLogger, TensorBoard, TerminateOnNaN
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
