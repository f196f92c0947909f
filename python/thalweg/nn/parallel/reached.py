"""Which leaves a result depends on."""

import thalweg as tw


def tensors_in(value):
    """All tensors in nested containers and dataclass-like objects."""
    if isinstance(value, tw.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from tensors_in(item)
    elif hasattr(value, "__dict__"):
        yield from tensors_in(vars(value))


def reached_leaves(result):
    """The ids of the leaves whose gradients a backward of `result` makes."""
    found = set()
    nodes = []
    for tensor in tensors_in(result):
        if tensor.grad_fn is not None:
            nodes.append(tensor.grad_fn)
        elif tensor.requires_grad:
            found.add(id(tensor))
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.add(id(variable))
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                nodes.append(following)
    return found
