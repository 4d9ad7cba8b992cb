from tracejit.saved_model.loading import LoadedModel as LoadedModel
from tracejit.saved_model.loading import load as load
from tracejit.saved_model.saving import NotSaved as NotSaved
from tracejit.saved_model.saving import SaveOptions as SaveOptions
from tracejit.saved_model.saving import save as save
