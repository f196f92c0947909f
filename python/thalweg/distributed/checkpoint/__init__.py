"""Checkpoints that all processes write together, and that load on any placement and number of ranks.

A checkpoint is a folder: safetensors files with rectangles of the tensors, each element once, and `index.json`, which
says where every piece lies, the length and checksum of every file, and what else the state holds. It is replaced in
one step.
"""

from collections.abc import Mapping, MutableMapping

import thalweg as tw
from thalweg._core import _native
from thalweg.distributed.checkpoint.pieces import is_global
from thalweg.distributed.checkpoint.processes import Processes
from thalweg.distributed.checkpoint.reader import Reader
from thalweg.distributed.checkpoint.writer import write

__all__ = ["load", "save"]


def save(state_dict, checkpoint_id, *, process_group=None):
    """Saves a checkpoint; all processes of the job call it together.

    Args:
        state_dict: {name: object with state_dict(), or tensors, containers, numbers and strings}. Of local tensors the
            first process saves its own.
        checkpoint_id: the path of a folder that all processes see. A checkpoint in it is replaced in one step, when the
            new one is complete.
        process_group: those who take part; by default all.

    Errors: TypeError for state that is none of these; OSError from the disk, in the processes where it happened.

    >>> import tempfile
    >>> model = tw.nn.Linear(2, 3)
    >>> optimizer = tw.optim.AdamW(model.parameters())
    >>> folder = tempfile.mkdtemp()
    >>> save({"model": model, "optimizer": optimizer, "step": 7}, folder)
    """
    if not isinstance(state_dict, Mapping) or not all(isinstance(name, str) for name in state_dict):
        raise TypeError(f"checkpoint.save: a dict with names is wanted, got {type(state_dict).__name__}")
    state = {name: value.state_dict() if _is_stateful(value) else value for name, value in state_dict.items()}
    with tw.no_grad():
        write(state, checkpoint_id, Processes(process_group))


def load(state_dict, checkpoint_id):
    """Loads a checkpoint, whatever placement and number of ranks it was saved with.

    Objects with load_state_dict() take over their state, tensors are filled in place, and other values are replaced in
    `state_dict`. Tensors come in the layout of those they stand for: the ones in `state_dict`, or the parameter of an
    optimizer's state. Each process reads the pieces that its own parts meet.

    Args:
        state_dict: {name: ...}, with names that were saved.
        checkpoint_id: the folder.

    Errors: FileNotFoundError where no checkpoint was completed, ValueError where it is damaged or has no such name.

    >>> import tempfile
    >>> model = tw.nn.Linear(2, 3)
    >>> folder = tempfile.mkdtemp()
    >>> save({"model": model, "step": 7}, folder)
    >>> other = {"model": tw.nn.Linear(2, 3), "step": 0}
    >>> load(other, folder)
    >>> other["step"], bool((other["model"].weight == model.weight).all())
    (7, True)
    """
    if not isinstance(state_dict, MutableMapping):
        raise TypeError(f"checkpoint.load: a dict with names is wanted, got {type(state_dict).__name__}")
    reader = Reader(checkpoint_id)
    with tw.no_grad():
        for name, value in list(state_dict.items()):
            if _is_stateful(value):
                value.load_state_dict(reader.state(name, _tensors_for(reader, value)))
            elif isinstance(value, tw.Tensor):
                value.copy_(_same_shape(name, value, reader.state(name, lambda key, _, v=value: _like(reader, key, v))))
            else:
                state_dict[name] = reader.state(name, lambda key, _: reader.tensor(key))


def _same_shape(name, wanted, saved):
    if not isinstance(saved, tw.Tensor) or saved.shape != wanted.shape:
        found = tuple(saved.shape) if isinstance(saved, tw.Tensor) else type(saved).__name__
        raise ValueError(f"checkpoint.load: {name!r} has shape {tuple(wanted.shape)}, but what was saved is {found}")
    return saved


def _is_stateful(value):
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def _tensors_for(reader, target):
    """Makes the tensors of a state as its owner holds them."""
    if isinstance(target, tw.optim.Optimizer):
        params = [param for group in target.param_groups for param in group["params"]]

        def of_parameter(key, path):
            known = len(path) > 2 and path[0] == "state" and path[1] in range(len(params))
            return _like(reader, key, params[path[1]] if known else None)

        return of_parameter
    own = target.state_dict()
    return lambda key, path: _like(reader, key, _at(own, path))


def _at(state, path):
    for step in path:
        try:
            state = state[step]
        except (KeyError, IndexError, TypeError):
            return None
    return state if isinstance(state, tw.Tensor) else None


def _like(reader, key, like):
    """A saved tensor laid out as `like`; one of another shape is broadcast where `like` is, if it was global."""
    if like is None or not is_global(like):
        return reader.tensor(key)
    shape, was_global = reader.facts(key)
    layout = _native.layout_of(like, "checkpoint.load")
    if shape == list(like.shape):
        keys = [("B",) if item[0] == "P" else item for item in layout.sbp]
    elif was_global:
        keys = [("B",)] * len(layout.sbp)
    else:
        return reader.tensor(key)
    return reader.tensor(key, _native.Layout(layout.placement, keys))
