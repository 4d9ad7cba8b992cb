"""Optimizers: the field's update sequences, state, missing gradients, clipping, schedules; eager and compiled."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracejit as tf

GRADIENTS = [
    ([0.5, -1.0, 2.0], -3.0),
    ([0.25, 0.75, -4.0], 1.5),
    ([1.0, 0.0, 0.125], 0.5),
    ([-2.0, 3.0, 0.5], -0.25),
]
START = ([1.0, -2.0, 0.5], 4.0)

# What two float64 Variables of START are after four steps of GRADIENTS by keras.optimizers.<name>(0.0625, **options) of
# keras 3.15 with the TensorFlow backend. keras passes options through float32: those that are powers of two are exact.
KERAS = [
    ("SGD", {}, [1.015625, -2.171875, 0.5859375], 4.078125),
    ("SGD", {"momentum": 0.875}, [0.86309814453125, -2.1043701171875, 0.700439453125], 4.3302001953125),
    (
        "SGD",
        {"momentum": 0.875, "nesterov": True},
        [0.8958358764648438, -2.2631988525390625, 0.761322021484375],
        4.3670501708984375,
    ),
    (
        "SGD",
        {"weight_decay": 0.125},
        [0.9861974902451038, -2.1108274832367897, 0.5695715565234423],
        3.951925203204155,
    ),
    ("Adam", {}, [0.8308233976562186, -1.9597772030015195, 0.48639187907129994], 4.09423732116829),
    (
        "Adam",
        {"amsgrad": True},
        [0.8308233976562186, -1.9597793612812635, 0.4863900685572028],
        4.09423732116829,
    ),
    (
        "Adam",
        {"beta_1": 0.5, "beta_2": 0.75, "epsilon": 0.125},
        [0.9017040811662633, -2.015419974450718, 0.5017707566847697],
        4.048314710326248,
    ),
    (
        "Adam",
        {"beta_1": 0.5, "beta_2": 0.75, "epsilon": 0.125, "amsgrad": True},
        [0.9017040811662633, -2.0148189198367916, 0.4987678735763922],
        4.049336864656183,
    ),
    ("AdamW", {}, [0.829913966177931, -1.957828685509853, 0.4859233491390516], 4.090181927229357),
    (
        "AdamW",
        {"weight_decay": 0.25, "beta_1": 0.75, "beta_2": 0.875, "epsilon": 0.125},
        [0.8416362155143646, -1.8691825806566307, 0.4684664755411019],
        3.823856134405609,
    ),
    ("RMSprop", {}, [0.7085194044883626, -2.110723023231381, 0.45045162128581795], 4.090318175300594),
    (
        "RMSprop",
        {"rho": 0.75, "momentum": 0.5, "epsilon": 0.125},
        [0.7648746580802928, -2.047693515528365, 0.45260716484124214],
        4.100395302188129,
    ),
    (
        "RMSprop",
        {"centered": True, "rho": 0.5, "epsilon": 0.125},
        [0.8605270852236431, -2.077205202426247, 0.4538812426891036],
        4.063891286324882,
    ),
    (
        "RMSprop",
        {"centered": True, "momentum": 0.5, "rho": 0.5, "epsilon": 0.125},
        [0.7088074813680701, -2.0318247594184475, 0.4203560372937477],
        4.121354595183319,
    ),
    ("Adagrad", {}, [0.9239911685102636, -2.034184412216723, 0.48536276477877793], 4.029728231515899),
    (
        "Adagrad",
        {"initial_accumulator_value": 0.5, "epsilon": 0.25},
        [0.9608394177029858, -2.0393263119621388, 0.4889970017939383],
        4.028509133004317,
    ),
    ("Ftrl", {}, [0.3894686699807185, -1.43116171763071, 0.4072758826314117], 3.6104142939363255),
    (
        "Ftrl",
        {"l1_regularization_strength": 0.25, "l2_regularization_strength": 0.5, "beta": 0.125},
        [0.2787601361810753, -1.207960214197904, 0.3677950421083392],
        3.3940722204671947,
    ),
    (
        "Ftrl",
        {
            "l2_shrinkage_regularization_strength": 0.25,
            "initial_accumulator_value": 0.5,
            "learning_rate_power": -0.25,
        },
        [0.038990761516882674, -0.48274998801867575, 0.20561008346538825],
        1.9575049337162012,
    ),
    ("SGD", {"clipnorm": 1.5}, [0.9628041029634626, -2.0535940067249037, 0.48944913921405814], 3.984375),
    (
        "SGD",
        {"global_clipnorm": 1.5},
        [0.9710769560991259, -2.06843286703199, 0.5159855489480601],
        4.0173103514968185,
    ),
    ("SGD", {"clipvalue": 0.75}, [0.953125, -2.046875, 0.4609375], 3.984375),
    (
        "Adam",
        {"clipvalue": 0.75, "weight_decay": 0.125, "beta_1": 0.5, "beta_2": 0.75, "epsilon": 0.125},
        [0.8544718018982129, -1.953530384077291, 0.4357566230272241],
        3.871576269268303,
    ),
]
# keras.optimizers.schedules, computed in float32, at STEPS.
STEPS = (0, 4, 5, 6, 10, 11, 25, 100)
SCHEDULES = [
    (
        "ExponentialDecay(0.5, 10, 0.25)",
        [
            0.5,
            0.2871745824813843,
            0.25,
            0.21763762831687927,
            0.125,
            0.10881881415843964,
            0.015625,
            4.76837158203125e-07,
        ],
    ),
    (
        "ExponentialDecay(0.5, 10, 0.25, staircase=True)",
        [0.5, 0.5, 0.5, 0.5, 0.125, 0.125, 0.03125, 4.76837158203125e-07],
    ),
    (
        "CosineDecay(0.5, 40, alpha=0.125)",
        [
            0.5,
            0.4892936050891876,
            0.48334863781929016,
            0.47615766525268555,
            0.43592962622642517,
            0.42331674695014954,
            0.19753798842430115,
            0.0625,
        ],
    ),
    (
        "CosineDecay(0.125, 40, warmup_target=0.5, warmup_steps=8)",
        [0.125, 0.3125, 0.359375, 0.40625, 0.4969220757484436, 0.49309247732162476, 0.30836132168769836, 0.0],
    ),
    ("PiecewiseConstantDecay([5, 10], [1.0, 0.5, 0.25])", [1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.25]),
]


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def label(case):
    return case if isinstance(case, str) else ",".join(case) if isinstance(case, dict) else ""


def variables(dtype="float64"):
    return [tf.Variable(np.array(s, dtype)) for s in START]


@pytest.mark.parametrize(("name", "options", "a", "b"), KERAS, ids=label)
def test_sequences_are_those_of_keras(name, options, a, b, run):
    optimizer, (v, w) = getattr(tf.optimizers, name)(0.0625, **options), variables()
    step = run(lambda g, h: optimizer.apply_gradients([(g, v), (h, w)]))
    for g, h in GRADIENTS:
        step(tf.constant(np.array(g)), tf.constant(np.array(h)))
    exact = all(x in (0.875, 0.75, 0.5, 0.25, 0.125, 1.5, True) for x in options.values())
    needed = {
        "Adam": {"beta_1"},
        "AdamW": {"beta_1"},
        "RMSprop": {"rho"},
        "Adagrad": {"epsilon"},
        "Ftrl": {"initial_accumulator_value"},
    }.get(name, set())
    rtol = 1e-13 if exact and needed <= set(options) else 3e-6
    np.testing.assert_allclose(v.numpy(), a, rtol=rtol)
    np.testing.assert_allclose(w.numpy(), b, rtol=rtol)
    assert optimizer.iterations.numpy() == 4


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_compiled_steps_equal_eager_ones(name):
    found = []
    for compiled in (False, True):
        optimizer, (v, w) = getattr(tf.optimizers, name)(0.1), variables("float32")

        def step(optimizer=optimizer, v=v, w=w):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.sin(v) * w)
            optimizer.apply_gradients(zip(tape.gradient(loss, [v, w]), [v, w], strict=True))
            return loss

        run = tf.function(step) if compiled else step
        losses = [run().numpy() for _ in range(5)]
        found.append((losses, v.numpy(), w.numpy(), *[s.numpy() for s in optimizer.variables]))
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(eager, compiled, rtol=1e-5, atol=1e-6)


def test_state_is_made_once_and_found():
    optimizer, (v, w) = tf.optimizers.Adam(), variables()
    traces = []

    @tf.function
    def step(g, h):
        traces.append(1)
        optimizer.apply_gradients([(g, v), (h, w)])

    for g, h in GRADIENTS:
        step(np.array(g), np.array(h))
    assert step.experimental_get_tracing_count() == 2, "one trace makes the state, one is kept"
    assert len(traces) == 1, "what Python does in the second has been done"
    names = [x.name for x in optimizer.variables]
    assert names[:2] == ["iterations:0", "learning_rate:0"] and len(names) == 6
    assert [len(s) for s in optimizer.slots] == [2, 2] and optimizer.trainable_variables == ()
    optimizer.build([v, w])
    assert len(optimizer.slots) == 2


def test_the_learning_rate_can_be_changed_between_compiled_steps():
    optimizer, v = tf.optimizers.SGD(1.0), tf.Variable(10.0)
    step = tf.function(lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))
    step()
    optimizer.learning_rate = 0.25
    step()
    optimizer.learning_rate.assign(2.0)
    step()
    assert v.numpy() == 10.0 - 1.0 - 0.25 - 2.0
    optimizer.learning_rate = tf.constant(0.5)
    assert float(optimizer.learning_rate) == 0.5


def test_a_rate_that_a_function_of_nothing_tells(run):
    rate, v = tf.Variable(0.5), tf.Variable(10.0)
    optimizer = tf.optimizers.SGD(lambda: rate * 2.0)
    step = run(lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))
    step()
    rate.assign(0.25)
    step()
    assert float(v) == 10.0 - 1.0 - 0.5 and float(optimizer.learning_rate) == 0.5
    optimizer.learning_rate = lambda made: tf.cast(made, "float32")
    assert float(optimizer.learning_rate) == 2.0


def test_a_schedule_follows_the_steps(run):
    optimizer = tf.optimizers.SGD(tf.optimizers.schedules.PiecewiseConstantDecay([1], [1.0, 0.25]))
    v = tf.Variable(10.0)
    step = run(lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))
    values = []
    for _ in range(4):
        step()
        values.append(float(v.numpy()))
    assert values == [9.0, 8.0, 7.75, 7.5]
    assert float(optimizer.learning_rate) == 0.25
    optimizer.learning_rate = 3.0
    assert float(optimizer.learning_rate) == 3.0


@pytest.mark.parametrize(("text", "rates"), SCHEDULES, ids=label)
def test_schedules_are_those_of_keras(text, rates, run):
    schedule = eval(text, vars(tf.optimizers.schedules))
    f = run(schedule)
    found = [float(f(tf.constant(np.int64(s)))) for s in STEPS]
    np.testing.assert_allclose(found, rates, rtol=2e-6, atol=1e-9)


def test_missing_gradients_are_left_out_with_a_warning(run):
    optimizer, (v, w) = tf.optimizers.SGD(1.0), variables()
    step = run(lambda: optimizer.apply_gradients([(np.ones(3), v), (None, w)]))
    with pytest.warns(UserWarning, match="no gradient for 'Variable:0': left as it is") as caught:
        step()
    assert caught[0].filename == __file__
    assert w.numpy() == START[1] and v.numpy().tolist() == [0.0, -3.0, -0.5]


def test_errors_say_what_to_do():
    optimizer, (v, w) = tf.optimizers.SGD(), variables()
    with pytest.raises(ValueError, match="no gradient for any Variable: 'Variable:0', 'Variable:0'"):
        optimizer.apply_gradients([(None, v), (None, w)])
    with pytest.raises(ValueError, match="no gradient for any Variable"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="comes twice in one step"):
        optimizer.apply_gradients([(np.ones(3), v), (np.ones(3), v)])
    with pytest.raises(
        ValueError, match=r"the gradient of 'Variable:0' is float64\[2\], the Variable float64\[3\]"
    ):
        optimizer.apply_gradients([(np.ones(2), v)])
    with pytest.raises(TypeError, match="optimizers change Variables, not Tensor"):
        optimizer.apply_gradients([(np.ones(3), tf.constant(np.ones(3)))])
    with pytest.raises(TypeError, match=r"Variables of floats, 'count:0' is int32\[\]"):
        optimizer.apply_gradients([(np.ones(()), tf.Variable(1, name="count"))])
    with pytest.raises(ValueError, match=r"momentum is in \[0, 1\], got 2"):
        tf.optimizers.SGD(momentum=2)
    with pytest.raises(ValueError, match="give one of clipnorm and clipvalue"):
        tf.optimizers.SGD(clipnorm=1.0, clipvalue=1.0)
    with pytest.raises(ValueError, match=r"beta_2 is in \[0, 1\), got 1"):
        tf.optimizers.Adam(beta_2=1)
    with pytest.raises(ValueError, match="the loss and its tape"):
        optimizer.minimize(tf.constant(1.0), [v])
    with pytest.raises(TypeError, match="unexpected keyword argument 'learning'"):
        tf.optimizers.SGD(learning=1)


def test_nothing_changes_when_a_step_is_refused():
    optimizer, (v, w) = tf.optimizers.SGD(1.0), variables()
    with pytest.raises(ValueError, match="the gradient of"):
        optimizer.apply_gradients([(np.ones(3), v), (np.ones(2), w)])
    assert v.numpy().tolist() == START[0] and optimizer.iterations.numpy() == 0


def test_minimize(run):
    v = tf.Variable(3.0)
    optimizer = tf.optimizers.SGD(0.25)
    step = run(lambda: optimizer.minimize(lambda: v**2, [v]))
    step()
    assert v.numpy() == 1.5
    with tf.GradientTape() as tape:
        loss = v**2
    optimizer.minimize(loss, lambda: [v], tape=tape)
    assert v.numpy() == 0.75
    optimizer.minimize(lambda: v**2, [v], grad_loss=2.0)
    assert v.numpy() == 0.0


def test_steps_are_not_recorded_by_tapes():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * 2.0
        tf.optimizers.Adam().apply_gradients([(tf.constant(1.0), v)])
        z = y * v
    assert tape.watched_variables() == (v,)
    assert tape.gradient(z, v).numpy() == pytest.approx(6.0 + 2.0 * v.numpy())


def test_dtypes_are_kept():
    for dtype in ("float32", "float64"):
        v = tf.Variable(np.ones(2, dtype))
        optimizer = tf.optimizers.Adam()
        optimizer.apply_gradients([(np.ones(2, "float64"), v)])
        assert v.dtype == dtype and {s.dtype.name for s in optimizer.slots[0].values()} == {dtype}


def test_empty_and_nan():
    v, w = tf.Variable(np.zeros((0, 3))), tf.Variable(1.0)
    optimizer = tf.optimizers.RMSprop()
    optimizer.apply_gradients([(np.zeros((0, 3)), v), (tf.constant(np.float32("nan")), w)])
    assert v.shape == (0, 3) and np.isnan(w.numpy())


def test_training_a_network_reduces_its_loss():
    x = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
    y = np.sin(x.sum(axis=1, keepdims=True)).astype("float32")
    for optimizer in (
        tf.optimizers.SGD(0.1, 0.9, True),
        tf.optimizers.Adam(0.01),
        tf.optimizers.RMSprop(0.01),
    ):
        tf.random.set_seed(1)
        w = [tf.Variable(tf.initializers.GlorotUniform()(s)) for s in ((3, 16), (16, 1))]

        @tf.function
        def step(w=w, optimizer=optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.tanh(x @ w[0]) @ w[1] - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, w), w, strict=True))
            return loss

        first = step().numpy()
        for _ in range(100):
            last = step().numpy()
        assert last < first / 4


# ---- clipping -------------------------------------------------------------------------------------------


def test_clip_by_norm(run):
    x = np.array([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(
        run(lambda t: tf.clip_by_norm(t, 1.0, axes=1))(x).numpy(), [[0.6, 0.8], [0.3, 0.4]]
    )
    small = np.array([0.1, 0.7])
    assert run(lambda t: tf.clip_by_norm(t, 3.0))(small).numpy().tolist() == small.tolist(), (
        "exactly as it was"
    )
    assert np.isnan(run(lambda t: tf.clip_by_norm(t, 1.0))(np.array([np.nan, 1.0])).numpy()).all()


def test_gradients_pass_through_clipping_at_zero(run):
    gradient = run(tf.grad(lambda t: tf.reduce_sum(tf.clip_by_norm(t, 1.0) * 3.0)))
    assert gradient(tf.constant([0.0, 0.0])).numpy().tolist() == [3.0, 3.0]


def test_clip_by_global_norm(run):
    both = run(lambda a, b: tf.clip_by_global_norm([a, None, b], 2.5))
    (a, nothing, b), norm = both(np.array([3.0]), np.array([4.0]))
    assert (a.numpy(), nothing, b.numpy(), norm.numpy()) == (1.5, None, 2.0, 5.0)
    (a, _, b), norm = both(np.array([np.inf]), np.array([4.0]))
    assert np.isnan(a.numpy()) and np.isnan(b.numpy()) and np.isinf(norm.numpy())
    assert tf.clip_by_global_norm([[3.0]], 1.0, use_norm=6.0)[0][0].numpy() == 0.5
    with pytest.raises(ValueError, match="a norm of no tensors"):
        tf.clip_by_global_norm([None], 1.0)


def test_no_warnings_in_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer, (v, w) = tf.optimizers.Adam(clipnorm=1.0), variables()
        optimizer.apply_gradients([(np.zeros(3), v), (0.0, w)])


# ---- the further methods --------------------------------------------------------------------------------

# Computed by keras 3.15 with the TensorFlow backend: 50 steps on mean((X @ w + b - Y)**2); some of w, and b.
FURTHER = {
    "Adadelta": ({"learning_rate": 1.0}, [-0.9270899, -0.7452779], [0.42870572, -0.19356975, -0.06435222]),
    "Adamax": ({"learning_rate": 0.1}, [-0.25681177, -0.13485166], [0.05276427, -0.02981414, -0.07356099]),
    "Nadam": ({"learning_rate": 0.1}, [-0.22709277, -0.10126854], [0.04175402, -0.02645352, -0.07266884]),
    "Lion": ({}, [-0.95000064, -0.76818246], [0.45000064, -0.1999999, -0.04999997]),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", FURTHER)
def test_further_methods_are_those_of_keras(name, compiled):
    options, expected_w, expected_b = FURTHER[name]
    w = tf.Variable(np.linspace(-1, 1, 12).reshape(4, 3).astype("float32"))
    b = tf.Variable([0.5, -0.25, 0.0])
    x = np.sin(np.arange(40).reshape(10, 4)).astype("float32")
    y = np.cos(np.arange(30).reshape(10, 3)).astype("float32")
    optimizer = getattr(tf.optimizers, name)(**options)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b - y) ** 2)
        optimizer.apply(tape.gradient(loss, [w, b]), [w, b])

    step = tf.function(step) if compiled else step
    for _ in range(50):
        step()
    np.testing.assert_allclose(w.numpy().ravel()[:2], expected_w, rtol=2e-5)
    np.testing.assert_allclose(b.numpy(), expected_b, rtol=2e-4, atol=1e-6)


# Computed by keras 3.15: the rates at these steps.
MANY_STEPS = (0, 1, 5, 6, 10, 19, 25)
MORE_RATES = [
    ("PolynomialDecay", (0.1, 20), [0.1, 0.095005, 0.075025, 0.07003, 0.05005, 0.005095, 0.0001]),
    (
        "PolynomialDecay",
        (0.1, 20, 0.01, 2.0, True),
        [0.1, 0.091225, 0.060625, 0.0541, 0.0325, 0.010225, 0.022656],
    ),
    ("InverseTimeDecay", (0.1, 10, 0.5), [0.1, 0.095238, 0.08, 0.076923, 0.066667, 0.051282, 0.044444]),
    ("InverseTimeDecay", (0.1, 10, 0.5, True), [0.1, 0.1, 0.1, 0.1, 0.066667, 0.066667, 0.05]),
    ("CosineDecayRestarts", (0.1, 6), [0.1, 0.093301, 0.006699, 0.1, 0.075, 0.099572, 0.080438]),
    (
        "CosineDecayRestarts",
        (0.1, 6, 1.5, 0.9, 0.1),
        [0.1, 0.093971, 0.016029, 0.091, 0.057533, 0.068216, 0.021436],
    ),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), MORE_RATES)
def test_further_schedules_are_those_of_keras(name, arguments, expected):
    rate = getattr(tf.optimizers.schedules, name)(*arguments)
    np.testing.assert_allclose([float(rate(step)) for step in MANY_STEPS], expected, atol=1e-6)
    compiled = tf.function(lambda step: rate(step))
    np.testing.assert_allclose(
        [float(compiled(tf.constant(step, tf.int64))) for step in MANY_STEPS], expected, atol=1e-6
    )


def test_a_restart_without_stretching():
    rate = tf.optimizers.schedules.CosineDecayRestarts(1.0, 4, t_mul=1.0)
    assert [round(float(rate(step)), 6) for step in (0, 2, 4, 6, 8)] == [1.0, 0.5, 1.0, 0.5, 1.0]


def test_optimizers_by_name_and_by_their_arguments():
    assert type(tf.optimizers.get("adam")) is tf.optimizers.Adam
    assert type(tf.optimizers.get("SGD")) is tf.optimizers.SGD
    with pytest.raises(ValueError, match="no optimizer is called 'nonsense'"):
        tf.optimizers.get("nonsense")
    config = tf.optimizers.SGD(0.5, momentum=0.25, nesterov=True, clipnorm=2.0).get_config()
    assert (config["learning_rate"], config["momentum"], config["nesterov"]) == (0.5, 0.25, True)
    again = tf.optimizers.SGD.from_config(config)
    assert again.clipnorm == 2.0 and float(again.learning_rate) == 0.5
    for kind in (tf.optimizers.Adam, tf.optimizers.AdamW, tf.optimizers.Nadam, tf.optimizers.RMSprop):
        assert kind.from_config(kind().get_config()).get_config() == kind().get_config()


def test_gradients_in_the_order_of_what_it_was_built_for():
    optimizer, v = tf.optimizers.SGD(0.5), tf.Variable(1.0)
    with pytest.raises(ValueError, match="say which Variables"):
        optimizer.apply([tf.constant(1.0)])
    optimizer.build([v])
    optimizer.apply([tf.constant(1.0)])
    assert float(v) == 0.5


def test_rows_read_several_times_are_added_before_they_are_squared():
    # Computed by TensorFlow's own optimizers (compat.v1); Keras 3 squares the parts and steps further.
    expected = {
        tf.optimizers.Adagrad(0.1): ([-0.14619263, -0.05604863], [0.24192268, 0.36253896]),
        tf.optimizers.Adam(0.01, epsilon=1e-8): ([-0.34570614, -0.20892598], [0.47961643, 0.6202107]),
    }
    for optimizer, (second, last) in expected.items():
        table = tf.Variable(np.linspace(-1, 1, 15).reshape(5, 3).astype("float32"))
        for i in range(50):
            ids = [[0, 2, 2], [4, 0, 4], [1, 1, 1], [2, 0, 3]][i % 4]
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.gather(table, ids) ** 2 * [[1.0], [2.0], [3.0]])
            optimizer.apply_gradients([(tape.gradient(loss, table), table)])
        np.testing.assert_allclose(table.numpy()[1, :2], second, rtol=2e-5)
        np.testing.assert_allclose(table.numpy()[4, :2], last, rtol=2e-5)


# As KERAS, by SGD(0.25, momentum=0.5, use_ema=True, ema_momentum=0.5): every two steps, or when it is done.
AVERAGES = {
    2: ([0.75, -2.1875, 0.65625], 4.65625),
    None: ([0.703125, -2.2109375, 0.9375], 4.65625),
}


@pytest.mark.parametrize("every", AVERAGES)
def test_running_means_of_values_are_those_of_keras(every, run):
    a, b = variables()
    optimizer = tf.optimizers.SGD(
        0.25, momentum=0.5, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=every
    )

    @run
    def step(p, q):
        optimizer.apply_gradients([(p, a), (q, b)])

    for p, q in GRADIENTS:
        step(tf.constant(p, tf.float64), tf.constant(q, tf.float64))
    if every is None:
        optimizer.finalize_variable_values([a, b])
    np.testing.assert_allclose(a, AVERAGES[every][0], rtol=1e-12)
    np.testing.assert_allclose(b, AVERAGES[every][1], rtol=1e-12)


def test_fit_ends_with_the_running_means():
    model = tf.Sequential([tf.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(tf.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5), lambda y, p: tf.reduce_mean(p))
    model.fit(np.ones((2, 1), np.float32), np.ones((2, 1), np.float32), batch_size=1, verbose=0)
    np.testing.assert_allclose(model.trainable_variables[0], [[-0.5]])  # of 0 and -1


def test_running_means_are_asked_for_by_numbers_in_range():
    with pytest.raises(ValueError, match="ema_momentum is in"):
        tf.optimizers.SGD(ema_momentum=1.5)
    with pytest.raises(ValueError, match="a number of steps"):
        tf.optimizers.SGD(ema_overwrite_frequency=0)
    assert tf.optimizers.Adam(use_ema=True).get_config()["use_ema"] is True


@pytest.mark.parametrize("kind", [tf.optimizers.SGD, tf.optimizers.Adam, tf.optimizers.RMSprop])
def test_older_programs_call_the_learning_rate_lr(kind):
    optimizer = kind(lr=0.25)
    assert float(optimizer.learning_rate) == 0.25
    config = optimizer.get_config()
    assert config["learning_rate"] == 0.25 and "lr" not in config
    assert float(kind.from_config(config).learning_rate) == 0.25


def test_steps_take_pairs():
    v = tf.Variable(1.0)
    for given in ([v], [(v, v, v)]):
        with pytest.raises(TypeError, match=r"takes pairs .*apply_gradients\(zip\(gradients, variables\)\)"):
            tf.optimizers.SGD().apply_gradients(given)
