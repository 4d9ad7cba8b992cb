"""Bodies that are traced again: every effect happens once, compiled as eagerly."""

import logging
import math
import sys
import warnings

import numpy as np
import pytest

import tracejit as tf

MODES = pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
V = tf.Variable(0.0)
TOTAL = 0.0


@pytest.fixture(autouse=True)
def fresh():
    V.assign(0.0)


def three():
    return tf.constant(3)


@MODES
def test_array_written_in_a_loop_that_assigns(run):
    def f(n):
        ta = tf.TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            V.assign_add(1.0)
            ta = ta.write(i, V)
        return ta.stack()

    np.testing.assert_array_equal(run(f)(three()), [1.0, 2.0, 3.0])
    assert float(V) == 3.0


@MODES
def test_list_that_grows_under_a_condition(run):
    def f(n):
        items = []
        for i in tf.range(n):
            V.assign_add(1.0)
            if i % 2 == 0:
                items.append(V + 0.0)
        return tf.stack(items)

    np.testing.assert_array_equal(run(f)(tf.constant(4)), [1.0, 3.0])
    assert float(V) == 4.0


def put(d, z):
    d["a"] = z


@MODES
def test_branch_that_assigns_and_prints(run, capfd):
    def f(a, y, n):
        d = {"a": y}
        V.assign_add(1.0)
        if 0.6 < a < 1.8:
            tf.print("p", n, output_stream=sys.stdout)
            V.assign_add(2.0)
        else:
            put(d, y * 2.0)
        return d["a"]

    g = run(f)
    assert float(g(tf.constant(1.0), tf.constant(2.0), three())) == 2.0
    assert float(g(tf.constant(3.0), tf.constant(2.0), three())) == 4.0
    assert float(V) == 4.0
    assert capfd.readouterr().out == "p 3\n"


@MODES
def test_helper_changes_a_dict(run, capfd):
    def f(y, n):
        d = {"a": y}
        for i in tf.range(n):
            tf.print("i", i, output_stream=sys.stdout)
            V.assign_add(1.0)
            put(d, y * V)
        return d["a"]

    assert float(run(f)(tf.constant(2.0), three())) == 6.0
    assert float(V) == 3.0
    assert capfd.readouterr().out == "i 0\ni 1\ni 2\n"


class Cells:
    """Changes state where no syntax of the caller shows it."""

    def __init__(self, a):
        self.a, self.count = a, 0

    def __setitem__(self, k, z):
        self.a = z + k

    def __add__(self, z):
        self.count = self.count + 1
        return self.a + z

    def __call__(self, z):
        self.a = z


@MODES
@pytest.mark.parametrize("x", [1.0, -1.0])
def test_operators_of_a_class(run, x):
    def f(x, n):
        q, y = Cells(x), x
        for _ in tf.range(n):
            if x > 0.0:
                q[1] = q + y
                y = q + x
            else:
                q(q.a * 0.5)
        return y, q.a, q.count

    y, a, count = run(f)(tf.constant(x), three())
    wanted = (19.0, 18.0, 6) if x > 0 else (-1.0, -0.125, 0)
    assert (float(y), float(a), int(count)) == wanted


def set_total(z):
    global TOTAL
    TOTAL = z


@MODES
def test_names_of_the_module(run):
    def f(x, n):
        set_total(x)
        for _ in tf.range(n):
            if TOTAL < 5.0:
                set_total(TOTAL * 2.0)
        return TOTAL + 0.0

    assert float(run(f)(tf.constant(1.0), three())) == 8.0


@MODES
def test_cells_of_another_function(run):
    def counter():
        count = 0.0

        def bump(z):
            nonlocal count
            count = count + z
            return count

        return bump

    def f(x, n):
        bump = counter()
        for _ in tf.range(n):
            bump(x)
        return bump(0.0)

    assert float(run(f)(tf.constant(1.5), three())) == 4.5


@MODES
def test_types_that_settle_late(run, capfd):
    def f(n):
        x, y = 0, 0
        for i in range(n):
            V.assign_add(1.0)
            tf.print(i, output_stream=sys.stdout)
            y = x
            x = x + 0.5
        return x, y

    x, y = run(f)(three())
    assert (float(x), float(y), float(V)) == (1.5, 1.0, 3.0)
    assert capfd.readouterr().out == "0\n1\n2\n"


@MODES
def test_first_iteration_written_out(run, capfd):
    def f(rows):
        best = None
        for row in rows:
            V.assign_add(1.0)
            tf.print(row, output_stream=sys.stdout)
            if best is None or row < best:
                best = row
        return best

    assert float(run(f)(tf.constant([3.0, 1.0, 2.0]))) == 1.0
    assert float(V) == 3.0
    assert capfd.readouterr().out == "3\n1\n2\n"


@MODES
def test_condition_that_becomes_traced(run, capfd):
    def f(x):
        k, going = 0, True
        while going:
            V.assign_add(1.0)
            tf.print("k", output_stream=sys.stdout)
            k += 1
            going = x * k < 3.0
        return k

    assert int(run(f)(tf.constant(1.0))) == 3
    assert float(V) == 3.0
    assert capfd.readouterr().out == "k\nk\nk\n"


@MODES
def test_functional_forms(run, capfd):
    def bump(x):
        V.assign_add(1.0)
        tf.print("b", output_stream=sys.stdout)
        return x + V

    def f(x):
        _, a = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, bump(a)), (0, x))
        b = tf.fori_loop(0, 2, lambda i, b: bump(b), x)
        c, _ = tf.scan(lambda c, _: (bump(c), c), x, length=2)
        d = tf.cond(x > 0.0, lambda: bump(x), lambda: x)
        return a, b, c, d

    assert [float(y) for y in run(f)(tf.constant(1.0))] == [4.0, 8.0, 12.0, 8.0]
    assert float(V) == 7.0
    assert capfd.readouterr().out == "b\n" * 7


@MODES
@pytest.mark.parametrize("elements_first", [True, False])
def test_scan_asks_without_effects(run, elements_first, capfd):
    log = []

    def f(rows, start):
        def step(c, x):
            log.append("called")
            V.assign_add(1.0)
            tf.print("s", output_stream=sys.stdout)
            return c + x if elements_first else (c + x, c)

        return tf.scan(step, rows, start) if elements_first else tf.scan(step, start, rows)[0]

    found = run(f)(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([0.0, 1.0]))
    np.testing.assert_array_equal(found[-1] if elements_first else found, [9.0, 13.0])
    assert float(V) == 3.0
    assert len(log) in (1, 3)  # while tracing, or for each row
    assert capfd.readouterr().out == "s\ns\ns\n"


def test_unknowns_of_another_dtype():
    called = []

    @tf.function
    def f(a):
        def equation(x):
            called.append(1)
            return 0.5 * (x + a / x)

        return tf.fixed_point(equation, 1.0)

    assert float(f(np.float64(2.0))) == pytest.approx(2.0**0.5, rel=1e-12)
    assert len(called) == 1


def test_first_call_creates(capfd):
    class Model:
        w = None
        log = ()

    m = Model()

    @tf.function
    def f(x):
        if m.w is None:
            m.w = tf.Variable(tf.random.normal([]))
        m.log += ("called",)
        print("traced")
        return m.w * x

    f(1.0), f(1.0)
    assert m.log == ("called",)
    assert capfd.readouterr().out == "traced\n"


def test_what_python_tells_is_told_once(capfd, caplog):
    log = logging.getLogger("told")

    @tf.function
    def f(n):
        x = 0.0
        for _ in tf.range(n):
            print("printed", end=";")
            log.warning("logged")
            warnings.warn("warned", UserWarning, stacklevel=1)
            V.assign_add(1.0)
            x = x + V
        return x

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert float(f(three())) == 6.0
    assert capfd.readouterr().out == "printed;"
    assert [r.message for r in caplog.records] == ["logged"]
    assert len([w for w in found if str(w.message) == "warned"]) == 1


def test_what_was_told_before_an_error_is_told(capfd):
    @tf.function
    def f(n):
        for _ in tf.range(n):
            print("before")
            raise RuntimeError("user's own")
        return n

    with pytest.raises(RuntimeError):
        f(three())
    assert capfd.readouterr().out == "before\n"


@pytest.mark.parametrize("caught", ["except:", "except BaseException:", "finally:"])
def test_handlers_do_not_swallow_what_traces_again(caught, tmp_path):
    source = f"""
import tracejit as tf
V = tf.Variable(0.0)
def f(n):
    items = []
    for i in tf.range(n):
        try:
            V.assign_add(1.0)
            if i % 2 == 0:
                items.append(V + 0.0)
        {caught}
            {"pass" if caught != "finally:" else "V.assign_add(0.5)"}
    return tf.stack(items)
"""
    path = tmp_path / "program.py"
    path.write_text(source)
    names = {"__name__": "program"}
    exec(compile(source, path, "exec"), names)
    eager = names["f"](tf.constant(4))
    wanted = float(names["V"])
    names["V"].assign(0.0)
    np.testing.assert_array_equal(tf.function(names["f"])(tf.constant(4)), eager)
    assert float(names["V"]) == wanted


def test_tape_of_the_surroundings_is_used_once():
    @tf.function
    def f(x, n):
        y = x
        with tf.GradientTape() as tape:
            tape.watch(x)
            for _ in tf.range(n):
                V.assign_add(1.0)
                y = y * x
        return tape.gradient(y, x)

    assert float(f(tf.constant(2.0), three())) == 32.0
    assert float(V) == 3.0


def refused():
    array, items = np.zeros(2), iter([1.0, 2.0])

    def changes_an_array(x):
        if x > 0.0:
            array[0] = 1.0
        return x

    def adds_to_an_array(x):
        a = array
        if x > 0.0:
            a += 1.0
        return x

    def takes_an_item(x):
        for _ in tf.range(3):
            x = x + next(items)
        return x

    def loops_over_an_iterator(x):
        if x > 0.0:
            for item in items:
                x = x + item
        return x

    def opens_a_file(x):
        if x > 0.0:
            with open("never", "w", encoding="utf-8") as file:
                file.write("x")
        return x

    def asks(x):
        if x > 0.0:
            input("?")
        return x

    return [changes_an_array, adds_to_an_array, takes_an_item, loops_over_an_iterator, opens_a_file, asks]


@pytest.mark.parametrize("f", refused(), ids=lambda f: f.__name__)
def test_what_cannot_wait_is_refused(f):
    with pytest.raises(tf.errors.TracejitError, match=r"test_attempts\.py:\d+"):
        tf.function(f)(tf.constant(1.0))


W = tf.Variable(10.0)


@MODES
def test_a_variable_chosen_by_a_branch(run):
    def f(c):
        r = V
        if c > 0.0:
            r = W
        V.assign_add(1.0)
        W.assign_add(1.0)
        seen = r + 0.0
        r.assign_sub(0.5)
        return seen, r * 2.0

    W.assign(10.0)
    g = run(f)
    assert [float(y) for y in g(tf.constant(1.0))] == [11.0, 21.0]
    assert (float(V), float(W)) == (1.0, 10.5)
    assert [float(y) for y in g(tf.constant(-1.0))] == [2.0, 3.0]
    assert (float(V), float(W)) == (1.5, 11.5)


@MODES
def test_gradient_through_a_variable_chosen_by_a_branch(run):
    def f(c):
        with tf.GradientTape() as tape:
            r = V if c > 0.0 else W
            y = r * r
        return tape.gradient(y, [V, W], unconnected_gradients="zero")

    V.assign(3.0)
    W.assign(5.0)
    g = run(f)
    assert [float(y) for y in g(tf.constant(1.0))] == [6.0, 0.0]
    assert [float(y) for y in g(tf.constant(-1.0))] == [0.0, 10.0]


def test_a_variable_or_a_tensor_is_read_and_not_assigned():
    def read(c):
        r = c
        if c > 0.0:
            r = V
        V.assign_add(1.0)
        return r + 0.0

    g = tf.function(read)
    assert [float(g(tf.constant(c))) for c in (1.0, -1.0)] == [1.0, -1.0]

    @tf.function
    def assigned(c):
        r = c
        if c > 0.0:
            r = V
        r.assign_add(1.0)
        return r + 0.0

    with pytest.raises(tf.errors.TracejitError, match=r"assign in the branch\n.*test_attempts\.py:\d+"):
        assigned(tf.constant(1.0))


def grown_in_nested_loops(x, s, n):
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    ta = ta.write(0, x)
    for i in tf.range(n):
        for _ in s:
            V.assign_add(1.0)
            ta = ta.write(ta.size(), x + tf.cast(i, tf.float32))
    return ta.stack()


def grown_in_nested_loops_under_a_condition(x, s, n):
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    ta = ta.write(0, x)
    for i in tf.range(n):
        if x < 3.0:
            for _ in s:
                V.assign_add(1.0)
                ta = ta.write(ta.size(), x + tf.cast(i, tf.float32))
    return ta.stack()


@MODES
@pytest.mark.parametrize("f", [grown_in_nested_loops, grown_in_nested_loops_under_a_condition])
def test_array_that_grows_in_nested_loops(run, f):
    found = run(f)(tf.constant(0.5), tf.constant([1.0, 2.0]), three())
    np.testing.assert_array_equal(found, [0.5, 0.5, 0.5, 1.5, 1.5, 2.5, 2.5])
    assert float(V) == 6.0


@MODES
def test_list_that_loops_have_built_grows_by_a_helper(run):
    def push(items, z):
        items.append(z)

    def f(x, n):
        items = [x]
        for _ in range(n):
            items.append(x * 2.0)
        for _ in tf.range(n):
            push(items, x * 3.0)
        return tf.stack(items)

    np.testing.assert_array_equal(run(f)(tf.constant(1.0), tf.constant(2)), [1.0, 2.0, 2.0, 3.0, 3.0])


class Slots:
    """Changes itself in ways that are announced, and in others."""

    def __init__(self, a):
        self.a = a

    def __add__(self, z):
        self.a = self.a * 0.5 + z

    def __call__(self, z):
        self.a = z


@MODES
@pytest.mark.parametrize("n", [2, 4])
def test_an_attribute_changed_by_an_operator_then_by_a_method(run, n):
    def f(x, n):
        q = Slots(x)
        if n > 2:
            q + x
            q(x)
        else:
            x = x + q.a
        return q.a + x

    assert float(run(f)(tf.constant(0.75), tf.constant(n))) == (1.5 if n > 2 else 2.25)


@pytest.mark.parametrize(
    "asks",
    [
        lambda x: float(np.array2string(x[0])),
        lambda x: range(x.shape[0])[x[0].__int__()],
        lambda x: [1.0, 2.0][x[0]],
        lambda x: math.floor(x[0]),
    ],
)
def test_a_handler_is_not_about_what_tracing_cannot_know(asks):
    """Eagerly the first line works; compiled code that took the handler's way would be wrong without a word."""

    @tf.function
    def f(x):
        try:
            return x * asks(x)
        except (TypeError, ValueError):
            return x * 100.0

    @tf.function
    def in_code_that_is_not_converted(x):
        try:
            pass
        finally:
            for _ in range(2):
                try:
                    y = x * asks(x)
                except Exception:
                    y = x * 100.0
                finally:
                    return y  # noqa: B012

    for g in (f, in_code_that_is_not_converted):
        with pytest.raises(tf.TracejitError, match=r"traced|known only"):
            g(tf.constant([1, 0]))


@MODES
def test_loops_in_finally_are_converted(run):
    def f(x, n):
        try:
            x = x * 2.0
        finally:
            for i in tf.range(n):
                if i > 1:
                    break
                x = x + 1.0
        return x

    assert float(run(f)(tf.constant(1.0), tf.constant(5))) == 4.0


def test_a_loop_over_rows_whose_number_nobody_knows_is_refused_where_it_is_not_converted():
    @tf.function
    def f(n):
        total = 0.0
        for _ in tf.range(n):
            try:
                total = total + 1.0
            finally:
                break  # noqa: B012
        return total

    with pytest.raises(tf.TracejitError, match="jump out of `finally`"):
        f(tf.constant(3))


def test_a_handler_that_names_an_error_of_ours_is_about_it():
    @tf.function
    def f(x):
        try:
            scale = float(x.numpy())
        except (tf.SymbolicValue, tf.LeakedTensor):
            scale = 2.0
        return x * scale

    assert float(f(tf.constant(3.0))) == 6.0
