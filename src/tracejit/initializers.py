"""How weights are first drawn: ``tracejit.initializers``. Names only."""

from .library.initializers import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    LecunNormal,
    LecunUniform,
    Ones,
    Orthogonal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    VarianceScaling,
    Zeros,
    get,
)

zeros, ones, constant, identity, orthogonal = Zeros, Ones, Constant, Identity, Orthogonal
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
variance_scaling = VarianceScaling
glorot_normal, glorot_uniform = GlorotNormal, GlorotUniform
he_normal, he_uniform, lecun_normal, lecun_uniform = HeNormal, HeUniform, LecunNormal, LecunUniform

# The names at the top level of programs for TensorFlow.
zeros_initializer, ones_initializer, constant_initializer = Zeros, Ones, Constant
random_normal_initializer, random_uniform_initializer = RandomNormal, RandomUniform
