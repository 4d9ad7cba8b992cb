from tracejit.layers.attention import AdditiveAttention as AdditiveAttention
from tracejit.layers.attention import Attention as Attention
from tracejit.layers.attention import MultiHeadAttention as MultiHeadAttention
from tracejit.layers.convolutional import Conv1D as Conv1D
from tracejit.layers.convolutional import Conv1DTranspose as Conv1DTranspose
from tracejit.layers.convolutional import Conv2D as Conv2D
from tracejit.layers.convolutional import Conv2DTranspose as Conv2DTranspose
from tracejit.layers.convolutional import Conv3D as Conv3D
from tracejit.layers.convolutional import Conv3DTranspose as Conv3DTranspose
from tracejit.layers.convolutional import DepthwiseConv1D as DepthwiseConv1D
from tracejit.layers.convolutional import DepthwiseConv2D as DepthwiseConv2D
from tracejit.layers.convolutional import SeparableConv1D as SeparableConv1D
from tracejit.layers.convolutional import SeparableConv2D as SeparableConv2D
from tracejit.layers.core import ELU as ELU
from tracejit.layers.core import Activation as Activation
from tracejit.layers.core import Dense as Dense
from tracejit.layers.core import Dropout as Dropout
from tracejit.layers.core import Embedding as Embedding
from tracejit.layers.core import Flatten as Flatten
from tracejit.layers.core import Lambda as Lambda
from tracejit.layers.core import LeakyReLU as LeakyReLU
from tracejit.layers.core import ReLU as ReLU
from tracejit.layers.core import Reshape as Reshape
from tracejit.layers.core import Softmax as Softmax
from tracejit.layers.einsum import EinsumDense as EinsumDense
from tracejit.layers.inputs import InputLayer as InputLayer
from tracejit.layers.inputs import Normalization as Normalization
from tracejit.layers.inputs import Rescaling as Rescaling
from tracejit.layers.joining import Add as Add
from tracejit.layers.joining import Average as Average
from tracejit.layers.joining import Concatenate as Concatenate
from tracejit.layers.joining import Dot as Dot
from tracejit.layers.joining import Maximum as Maximum
from tracejit.layers.joining import Minimum as Minimum
from tracejit.layers.joining import Multiply as Multiply
from tracejit.layers.joining import Subtract as Subtract
from tracejit.layers.joining import add as add
from tracejit.layers.joining import average as average
from tracejit.layers.joining import concatenate as concatenate
from tracejit.layers.joining import dot as dot
from tracejit.layers.joining import maximum as maximum
from tracejit.layers.joining import minimum as minimum
from tracejit.layers.joining import multiply as multiply
from tracejit.layers.joining import subtract as subtract
from tracejit.layers.layer import Layer as Layer
from tracejit.layers.noise import ActivityRegularization as ActivityRegularization
from tracejit.layers.noise import AlphaDropout as AlphaDropout
from tracejit.layers.noise import GaussianDropout as GaussianDropout
from tracejit.layers.noise import GaussianNoise as GaussianNoise
from tracejit.layers.noise import Identity as Identity
from tracejit.layers.noise import PReLU as PReLU
from tracejit.layers.noise import SpatialDropout1D as SpatialDropout1D
from tracejit.layers.noise import SpatialDropout2D as SpatialDropout2D
from tracejit.layers.noise import SpatialDropout3D as SpatialDropout3D
from tracejit.layers.normalization.examples import GroupNormalization as GroupNormalization
from tracejit.layers.normalization.examples import RMSNormalization as RMSNormalization
from tracejit.layers.normalization.examples import UnitNormalization as UnitNormalization
from tracejit.layers.normalization.spectral import SpectralNormalization as SpectralNormalization
from tracejit.layers.normalization.statistics import BatchNormalization as BatchNormalization
from tracejit.layers.normalization.statistics import LayerNormalization as LayerNormalization
from tracejit.layers.pooling import AveragePooling1D as AveragePooling1D
from tracejit.layers.pooling import AveragePooling2D as AveragePooling2D
from tracejit.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from tracejit.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from tracejit.layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from tracejit.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from tracejit.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from tracejit.layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from tracejit.layers.pooling import MaxPooling1D as MaxPooling1D
from tracejit.layers.pooling import MaxPooling2D as MaxPooling2D
from tracejit.layers.preprocessing.categories import CategoryEncoding as CategoryEncoding
from tracejit.layers.preprocessing.images import CenterCrop as CenterCrop
from tracejit.layers.preprocessing.images import RandomBrightness as RandomBrightness
from tracejit.layers.preprocessing.images import RandomContrast as RandomContrast
from tracejit.layers.preprocessing.images import RandomFlip as RandomFlip
from tracejit.layers.preprocessing.images import RandomRotation as RandomRotation
from tracejit.layers.preprocessing.images import RandomTranslation as RandomTranslation
from tracejit.layers.preprocessing.images import RandomZoom as RandomZoom
from tracejit.layers.preprocessing.images import Resizing as Resizing
from tracejit.layers.preprocessing.text import TextVectorization as TextVectorization
from tracejit.layers.preprocessing.vocabularies import IntegerLookup as IntegerLookup
from tracejit.layers.preprocessing.vocabularies import StringLookup as StringLookup
from tracejit.layers.recurrent.cells import GRUCell as GRUCell
from tracejit.layers.recurrent.cells import LSTMCell as LSTMCell
from tracejit.layers.recurrent.cells import SimpleRNNCell as SimpleRNNCell
from tracejit.layers.recurrent.cells import StackedRNNCells as StackedRNNCells
from tracejit.layers.recurrent.rnn import GRU as GRU
from tracejit.layers.recurrent.rnn import LSTM as LSTM
from tracejit.layers.recurrent.rnn import RNN as RNN
from tracejit.layers.recurrent.rnn import SimpleRNN as SimpleRNN
from tracejit.layers.resizing import Cropping1D as Cropping1D
from tracejit.layers.resizing import Cropping2D as Cropping2D
from tracejit.layers.resizing import Cropping3D as Cropping3D
from tracejit.layers.resizing import Permute as Permute
from tracejit.layers.resizing import RepeatVector as RepeatVector
from tracejit.layers.resizing import UpSampling1D as UpSampling1D
from tracejit.layers.resizing import UpSampling2D as UpSampling2D
from tracejit.layers.resizing import ZeroPadding1D as ZeroPadding1D
from tracejit.layers.resizing import ZeroPadding2D as ZeroPadding2D
from tracejit.layers.resizing import ZeroPadding3D as ZeroPadding3D
from tracejit.layers.sequences import Bidirectional as Bidirectional
from tracejit.layers.sequences import Masking as Masking
from tracejit.layers.sequences import TimeDistributed as TimeDistributed
from tracejit.layers.sequential import Sequential as Sequential
from tracejit.models.configuration import deserialize_keras_object as _deserialize
from tracejit.models.configuration import serialize_keras_object as _serialize

deserialize = _deserialize
serialize = _serialize
AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
Convolution1D = Conv1D
Convolution1DTranspose = Conv1DTranspose
Convolution2D = Conv2D
Convolution2DTranspose = Conv2DTranspose
Convolution3D = Conv3D
Convolution3DTranspose = Conv3DTranspose
SeparableConvolution1D = SeparableConv1D
SeparableConvolution2D = SeparableConv2D
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalMaxPool3D = GlobalMaxPooling3D
Input = InputLayer
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
