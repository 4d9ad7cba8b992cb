"""Calls that a graph makes once, where derivatives run it again: what they have given is kept, and given again.

The recorded form of an op that holds graphs returns the results of these calls besides its own, those of a loop row
by row; the graph that derivatives run takes them as further inputs. A call whose results cannot be returned, as their
sizes are known inside of a region alone, is made again. Knows nothing of what is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.ir.graph import Graph, Node, Value, noted, walk
from ...core.op import Op, ops
from ...core.tracing.dispatch import Record
from ...core.tracing.forms import BranchForm, CallForm, CustomForm, Form, RecomputedForm
from ...core.tracing.loop_form import LoopForm

#: The forms of the ops whose graphs return what is kept of them.
_FORMS: tuple[type[Form], ...] = (BranchForm, LoopForm, CallForm, RecomputedForm, CustomForm)


def calls_once(graph: Graph) -> bool:
    """Is there a call in the graph, or in its regions, that is made once?"""
    if "calls once" not in graph.derived:
        graph.derived["calls once"] = any("once" in node.op.traits for _, node in walk(graph))
    return graph.derived["calls once"]


def _form(call: Any) -> Form | None:
    """The form of a node or record, if it is one of these."""
    return next((form for kind in _FORMS if (form := kind.of(call)) is not None), None)


def _graphs(call: Any) -> tuple[tuple[str, Graph], ...]:
    """The graphs of a node, by attribute, of whose calls something may be kept; none of another op."""
    form = _form(call)
    return () if form is None else form.kept_graphs()


# ---- the form that keeps --------------------------------------------------------------------------------


def with_kept(kind: type[Form], inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes of the recorded form of an op that holds graphs: these return what their calls have given, too.

    All calls note what they give, for those that have to be made again.
    """
    noting = _noting(attrs)
    if noting is attrs:
        return attrs
    form = kind(inputs, noting)
    keeps_carries = isinstance(form, LoopForm) and form.keeps_carries
    return form.attrs if keeps_carries or not form.kept_graphs() else _regions_keeping(form)


def _noting(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    if not any(isinstance(v, Graph) and calls_once(v) for v in attrs.values()):
        return attrs
    return {k: noted(v) if isinstance(v, Graph) else v for k, v in attrs.items()}


def _regions_keeping(form: Form) -> Mapping[str, Any]:
    chosen = form.kept_graphs()
    keeping = [keeping_graph(g, form.first_row, isinstance(form, CallForm)) for _, g in chosen]
    more = [k.outputs[len(g.outputs) :] for k, (_, g) in zip(keeping, chosen, strict=True)]
    if not any(more):
        return form.attrs
    if isinstance(form, CustomForm):
        rule = _ignoring(form.rule, form.body, form.results, more[0])
        return form.replace(body=keeping[0], rule=rule).attrs
    graphs = {name: _with_zeros(own, keeping[i], more, i) for i, (name, own) in enumerate(chosen)}
    return {**form.attrs, **graphs}


def _with_zeros(own: Graph, keeping: Graph, more: Sequence[Sequence[Value]], i: int) -> Graph:
    """The graph `i` of an op with several: it returns zeros in place of what only the others keep."""
    if len(more) == 1:
        return keeping
    key = ("keeping of", i, *(tuple(v.spec for v in part) for part in more))
    if key not in own.derived:
        copy, env = _copied(keeping)
        outputs = [env[v] for v in keeping.outputs[: len(own.outputs)]]
        for k, part in enumerate(more):
            outputs += [env[v] for v in part] if k == i else [_zeros(copy, v) for v in part]
        copy.outputs = outputs
        own.derived[key] = copy
    return own.derived[key]


def _zeros(graph: Graph, like: Value) -> Value:
    spec = like.spec
    attrs = {"shape": tuple(spec.shape), "value": 0, "dtype": spec.dtype}
    return graph.add(ops.fill, (), attrs, (spec,))[0]


def _copied(graph: Graph) -> tuple[Graph, dict[Value, Value]]:
    copy = _empty(graph)
    env = {v: copy.add_input(v.spec) for v in graph.inputs}
    for node in graph.nodes:
        copy.add_copy(node, env)
    return copy, env


def _empty(like: Graph) -> Graph:
    return Graph(like.name, state=like.state, guards=like.guards, finished=True, function=like.function)


def _ignoring(rule: Graph, body: Graph, results: int, more: Sequence[Value]) -> Graph:
    """The rule of a function with its own gradient, which is given what is kept and does not read it."""
    copy = _empty(rule)
    at = len(body.outputs) - results
    env = {v: copy.add_input(v.spec) for v in rule.inputs[:at]}
    for v in more:
        copy.add_input(v.spec)
    env |= {v: copy.add_input(v.spec) for v in rule.inputs[at:]}
    for node in rule.nodes:
        copy.add_copy(node, env)
    copy.outputs = [env[v] for v in rule.outputs]
    return copy


def keeping_graph(graph: Graph, first: int, open_sizes: bool) -> Graph:
    """The graph with further outputs: what its calls give. Itself where it returns all of that from the `first` on.

    With `open_sizes` it may return stacks of a length that nothing says before it has run.
    """
    key = ("keeping", first, open_sizes)
    if key not in graph.derived:
        found = _keeping(graph, first, open_sizes) if calls_once(graph) else graph
        graph.derived[key] = found
        found.derived[key] = found
    return graph.derived[key]


def _keeping(graph: Graph, first: int, open_sizes: bool) -> Graph:
    copy = _empty(graph)
    env = {v: copy.add_input(v.spec) for v in graph.inputs}
    more: list[Value] = []
    returned = {id(v) for v in graph.outputs[first:]}
    for node in graph.nodes:
        kept, outputs = _keeping_node(node, copy, env, open_sizes)
        env.update(zip(node.outputs, outputs, strict=False))
        own = {id(new): old for old, new in zip(node.outputs, outputs, strict=False)}
        for v in (outputs[k] for k in kept):
            known = id(v) in own and id(own[id(v)]) in returned
            if not known:
                more.append(v)
    if not more and all(a.attrs is b.attrs for a, b in zip(graph.nodes, copy.nodes, strict=True)):
        return graph
    copy.outputs = [*(env[v] for v in graph.outputs), *more]
    return copy


def _keeping_node(
    node: Node, copy: Graph, env: Mapping[Value, Value], open_sizes: bool
) -> tuple[list[int], tuple[Value, ...]]:
    """A node of the copy that returns what is kept of it, and which of its results that is."""
    inputs, attrs = tuple([env[v] for v in node.inputs]), node.attrs
    if "once" in node.op.traits:
        assert node.op.with_residuals is not None
        attrs = node.op.with_residuals(node.inputs, attrs)
    else:
        form = _form(node)
        is_open = isinstance(form, LoopForm) and form.length is None and not open_sizes
        if form is None or is_open:
            attrs = _noting(attrs)
        else:
            attrs = with_kept(type(form), node.inputs, attrs)
    specs = tuple([v.spec for v in node.outputs])
    if attrs is not node.attrs:
        more = node.op.specs(tuple([v.spec for v in inputs]), attrs)[len(specs) :]
        specs = (*specs, *more)
    outputs = copy.add(node.op, inputs, attrs, specs, node.location)
    return kept_positions(copy.nodes[-1]), outputs


# ---- what is given again --------------------------------------------------------------------------------


def kept_positions(call: Any) -> list[int]:
    """Which results of a node or record are what its calls have given: all of a call's, those of regions."""
    if "once" in call.op.traits:
        of_numbers = all(v.spec.dtype.kind in "biufcV" for v in call.outputs)
        return list(range(len(call.outputs))) if of_numbers else []
    form = _form(call)
    if form is None:
        return []
    found = {k for _, graph in form.kept_graphs() for k in _returned(graph, form.first_row)}
    return [form.first_result + k for k in sorted(found)]


def given_by_calls(graph: Graph) -> list[Value]:
    """What the calls of a graph, and of its regions, have given, as far as these return it."""
    nodes = graph.nodes if calls_once(graph) else ()
    return [node.outputs[k] for node in nodes for k in kept_positions(node)]


def _returned(graph: Graph, first: int = 0) -> list[int]:
    """The outputs of a graph, from the `first` on, that are what its calls have given, if those of a node all are."""
    key = ("returned", first)
    if key not in graph.derived:
        at, found = _where(graph, first), set[int]()
        for node in graph.nodes if calls_once(graph) else ():
            found.update(_places(node, at))
        graph.derived[key] = sorted(found)
    return graph.derived[key]


def _where(graph: Graph, first: int) -> dict[int, int]:
    """The outputs of a graph from the `first` on, by identity."""
    return {id(v): k for k, v in reversed(list(enumerate(graph.outputs))) if k >= first}


def _places(node: Node, at: Mapping[int, int]) -> list[int]:
    """Where a graph returns what its node has kept; empty where it does not return all of that."""
    places = [at.get(id(node.outputs[k])) for k in kept_positions(node)]
    return [] if None in places else [p for p in places if p is not None]


def given_again(graph: Graph, positions: Sequence[int], first: int = 0, last: int = 0) -> Graph:
    """The graph that takes its own outputs at these positions, and makes no call that has given them.

    It takes them in front of its `last` inputs. `first` is the first output that may be one.
    """
    key = ("given again", tuple(positions), first, last)
    if key not in graph.derived:
        graph.derived[key] = _given_again(graph, positions, first, len(graph.inputs) - last)
    return graph.derived[key]


def _given_again(graph: Graph, positions: Sequence[int], first: int, place: int) -> Graph:
    copy = _empty(graph)
    env = {v: copy.add_input(v.spec) for v in graph.inputs[:place]}
    given = {k: copy.add_input(graph.outputs[k].spec) for k in positions}
    env |= {v: copy.add_input(v.spec) for v in graph.inputs[place:]}
    at = _where(graph, first)
    for node in graph.nodes:
        places = _places(node, at)
        if not places or not given.keys() >= set(places):
            copy.add_copy(node, env)
            continue
        call = Node(node.op, tuple([env[v] for v in node.inputs]), node.attrs, node.outputs, node.location)
        op, inputs, attrs = with_given(call, [given[p] for p in places])
        specs = tuple([v.spec for v in node.outputs])
        env.update(zip(node.outputs, copy.add(op, inputs, attrs, specs, node.location), strict=True))
    copy.outputs = [env[v] for v in graph.outputs]
    return copy


def with_given(call: Any, kept: Sequence[Any]) -> tuple[Op, tuple[Any, ...], Mapping[str, Any]]:
    """The op, inputs and attributes of a call that is given what was kept of it, see :func:`kept_positions`."""
    if "once" in call.op.traits:
        attrs = {k: v for k, v in call.attrs.items() if k != "noted"}
        return getattr(ops, call.op.name + "_given"), (*call.inputs, *kept), attrs
    if call.op is ops.loop:
        loop = LoopForm(call.inputs, call.attrs, call.outputs)
        carries = len(loop.init)
        body = given_again(loop.body, _returned(loop.body, carries), carries, len(loop.consts))
        given = loop.replace(body=body, xs=(*loop.xs, *kept))
        return call.op, tuple(given.inputs), given.attrs
    places, form = kept_positions(call), _form(call)
    graphs = {name: given_again(g, places) for name, g in _graphs(call)}
    if isinstance(form, CustomForm):
        form = form.replace(connected=(*form.connected, *(False for _ in kept)), **graphs)
        return call.op, (*call.inputs, *kept), form.attrs
    return call.op, (*call.inputs, *kept), {**call.attrs, **graphs}


def given_what_is_kept(record: Record) -> Record:
    """The record of a call that makes none of the calls which the recorded one has kept; itself where there are none.

    Its further inputs come last, those of a loop behind its xs.
    """
    places = kept_positions(record) if any(calls_once(g) for _, g in _graphs(record)) else []
    if not places:
        return record
    if record.op is ops.loop:
        loop = LoopForm(record.inputs, record.attrs, record.outputs)
        own = loop.replace(count=loop.trips if loop.length is None else None, cond=None)
        record = Record(record.op, tuple(own.inputs), own.attrs, record.outputs, record.location)
    op, inputs, attrs = with_given(record, [record.outputs[k] for k in places])
    return Record(op, inputs, attrs, record.outputs, record.location)
