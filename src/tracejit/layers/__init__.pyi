"""Layers: ``tracejit.layers``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.layers.core import Activation as Activation
from tracejit.layers.core import Dense as Dense
from tracejit.layers.core import Dropout as Dropout
from tracejit.layers.core import ELU as ELU
from tracejit.layers.core import Embedding as Embedding
from tracejit.layers.core import Flatten as Flatten
from tracejit.layers.core import Lambda as Lambda
from tracejit.layers.core import LeakyReLU as LeakyReLU
from tracejit.layers.core import ReLU as ReLU
from tracejit.layers.core import Reshape as Reshape
from tracejit.layers.core import Softmax as Softmax
from tracejit.layers.inputs import InputLayer as InputLayer
from tracejit.layers.inputs import Normalization as Normalization
from tracejit.layers.inputs import Rescaling as Rescaling
from tracejit.layers.joining import Add as Add
from tracejit.layers.joining import Concatenate as Concatenate
from tracejit.layers.joining import GlobalAveragePooling1D as GlobalAveragePooling1D
from tracejit.layers.joining import GlobalMaxPooling1D as GlobalMaxPooling1D
from tracejit.layers.joining import Multiply as Multiply
from tracejit.layers.layer import Layer as Layer
from tracejit.layers.normalization import BatchNormalization as BatchNormalization
from tracejit.layers.normalization import LayerNormalization as LayerNormalization
from tracejit.layers.recurrent import GRU as GRU
from tracejit.layers.recurrent import GRUCell as GRUCell
from tracejit.layers.recurrent import LSTM as LSTM
from tracejit.layers.recurrent import LSTMCell as LSTMCell
from tracejit.layers.recurrent import RNN as RNN
from tracejit.layers.sequential import Sequential as Sequential
Input = InputLayer
