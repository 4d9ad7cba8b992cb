from tracejit.layers.model import Model as Model
from tracejit.layers.sequential import Sequential as Sequential
from tracejit.models.configuration import NotDescribed as NotDescribed
from tracejit.models.saving import NotLoaded as NotLoaded
from tracejit.models.saving import clone_model as clone_model
from tracejit.models.saving import load_model as load_model
from tracejit.models.saving import model_from_json as model_from_json
from tracejit.models.saving import save_model as save_model
