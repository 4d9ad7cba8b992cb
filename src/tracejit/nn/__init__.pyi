from tracejit.math.elementary import zero_fraction as zero_fraction
from tracejit.math.sorting import in_top_k as in_top_k
from tracejit.math.sorting import top_k as top_k
from tracejit.nn.activations import crelu as crelu
from tracejit.nn.activations import elu as elu
from tracejit.nn.activations import gelu as gelu
from tracejit.nn.activations import leaky_relu as leaky_relu
from tracejit.nn.activations import log_softmax as log_softmax
from tracejit.nn.activations import relu6 as relu6
from tracejit.nn.activations import selu as selu
from tracejit.nn.activations import silu as silu
from tracejit.nn.activations import softmax as softmax
from tracejit.nn.activations import softsign as softsign
from tracejit.nn.blocks import batch_to_space as batch_to_space
from tracejit.nn.blocks import depth_to_space as depth_to_space
from tracejit.nn.blocks import space_to_batch as space_to_batch
from tracejit.nn.blocks import space_to_depth as space_to_depth
from tracejit.nn.common import batch_normalization as batch_normalization
from tracejit.nn.common import bias_add as bias_add
from tracejit.nn.common import dropout as dropout
from tracejit.nn.common import embedding_lookup as embedding_lookup
from tracejit.nn.common import l2_loss as l2_loss
from tracejit.nn.common import l2_normalize as l2_normalize
from tracejit.nn.common import moments as moments
from tracejit.nn.common import normalize_moments as normalize_moments
from tracejit.nn.common import weighted_moments as weighted_moments
from tracejit.nn.convolutions import avg_pool as avg_pool
from tracejit.nn.convolutions import avg_pool1d as avg_pool1d
from tracejit.nn.convolutions import avg_pool2d as avg_pool2d
from tracejit.nn.convolutions import conv1d as conv1d
from tracejit.nn.convolutions import conv2d as conv2d
from tracejit.nn.convolutions import convolution as convolution
from tracejit.nn.convolutions import depthwise_conv2d as depthwise_conv2d
from tracejit.nn.convolutions import max_pool as max_pool
from tracejit.nn.convolutions import max_pool1d as max_pool1d
from tracejit.nn.convolutions import max_pool2d as max_pool2d
from tracejit.nn.cross_entropy import compute_average_loss as compute_average_loss
from tracejit.nn.cross_entropy import log_poisson_loss as log_poisson_loss
from tracejit.nn.cross_entropy import scale_regularization_loss as scale_regularization_loss
from tracejit.nn.cross_entropy import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from tracejit.nn.cross_entropy import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from tracejit.nn.cross_entropy import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from tracejit.nn.cross_entropy import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from tracejit.nn.transposed import conv1d_transpose as conv1d_transpose
from tracejit.nn.transposed import conv2d_transpose as conv2d_transpose
from tracejit.nn.transposed import conv_transpose as conv_transpose
from tracejit.nn.windows import conv3d as conv3d
from tracejit.nn.windows import local_response_normalization as local_response_normalization
from tracejit.nn.windows import pool as pool
from tracejit.nn.windows import separable_conv2d as separable_conv2d
from tracejit.ops.elementwise.transcendental import relu as relu
from tracejit.ops.elementwise.transcendental import sigmoid as sigmoid
from tracejit.ops.elementwise.transcendental import softplus as softplus
from tracejit.ops.elementwise.transcendental import tanh as tanh

swish = silu
