"""The ideas, in reading order: settings, errors, dim, spec, tensor, dispatch, op, graph, text, trace, backprop."""
