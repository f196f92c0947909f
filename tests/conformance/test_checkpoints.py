"""Checkpoints between PyTorch and thalweg, both ways, in every format and dtype."""

import collections
import io

import pytest
import thalweg as tw
import torch

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def to_numpy(x):
    """The values as NumPy, bfloat16 as its bits."""
    x = x.detach()
    if str(x.dtype).endswith("bfloat16"):
        x = x.view(torch.int16 if isinstance(x, torch.Tensor) else tw.int16)
    return x.numpy()


def check(ours, theirs):
    """That two objects, one of each framework, hold the same."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, tw.Tensor)
        assert isinstance(ours, tw.nn.Parameter) == isinstance(theirs, torch.nn.Parameter)
        assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
        assert tuple(ours.shape) == tuple(theirs.shape) and ours.requires_grad == theirs.requires_grad
        assert to_numpy(ours).tobytes() == to_numpy(theirs).tobytes()
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs) and list(ours) == list(theirs)
        for key in theirs:
            check(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)) and not isinstance(theirs, torch.Size):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            check(a, b)
    elif isinstance(theirs, (torch.dtype, torch.device)):
        assert str(ours).rpartition(".")[2] == str(theirs).rpartition(".")[2]
    else:
        assert ours == theirs


def example(f):
    """The same object in the framework `f`."""
    x = f.arange(24, dtype=f.float32).reshape(4, 6)
    obj = collections.OrderedDict(
        views=[x, x.t(), x[1:3], x[:, 2], x[0, 0], x[:0], x[0].expand(3, 6)],
        dtypes={name: (f.arange(5) % 2).to(getattr(f, name)) for name in DTYPES},
        parameters=(f.nn.Parameter(f.ones(3, 2)), f.nn.Parameter(f.ones(1), requires_grad=False)),
        leaf=f.ones(2, requires_grad=True),
        empty=f.empty(0, 3),
        plain=[1, 2.5, None, True, "text", {"a": (1, 2)}, 2**40, {3}, 1 + 2j, bytearray(b"x")],
        kinds=[f.float16, f.Size([2, 3]), f.device("cpu")],
    )
    obj._metadata = {"version": 2}
    return obj


def test_ours_is_read_by_torch(tmp_path):
    path = tmp_path / "ours.pt"
    tw.save(example(tw), path)
    for mmap in (False, True):
        back = torch.load(path, weights_only=True, mmap=mmap)
        check(example(tw), back)
        assert back._metadata == {"version": 2}
        back["views"][0][1, 2] = -1
        assert back["views"][1][2, 1] == -1 and back["views"][2][0, 2] == -1


@pytest.mark.parametrize("zip_format", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
def test_theirs_is_read_here(tmp_path, zip_format, weights_only):
    path = tmp_path / "theirs.pt"
    torch.save(example(torch), path, _use_new_zipfile_serialization=zip_format)
    back = tw.load(path, weights_only=weights_only)
    check(back, example(torch))
    assert back._metadata == {"version": 2}
    back["views"][0][1, 2] = -1
    assert back["views"][1][2, 1] == -1 and back["views"][2][0, 2] == -1
    if zip_format:
        check(tw.load(path, mmap=True), example(torch))


def test_files_without_checksums(tmp_path):
    path = tmp_path / "x.pt"
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(torch.arange(5), path)
    finally:
        torch.serialization.set_crc32_options(True)
    assert tw.load(path).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("view", "values"), [(lambda x: x.conj(), [1 - 2j, 3 + 1j]), (lambda x: x.conj().imag, [-2, 1])]
)
def test_views_that_torch_conjugates_or_negates_late(view, values):
    file = io.BytesIO()
    torch.save(view(torch.tensor([1 + 2j, 3 - 1j])), file)
    file.seek(0)
    assert tw.load(file).tolist() == values


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_module_and_optimizer_states(tmp_path, optimizer):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    optim = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    model(torch.randn(5, 3)).sum().backward()
    optim.step()
    state = {"model": model.state_dict(), "optim": optim.state_dict(), "epoch": 3}
    path = tmp_path / "x.pt"
    torch.save(state, path)
    ours = tw.load(path)
    check(ours, state)
    tw.save(ours, path)
    again = torch.load(path)
    check(ours, again)
    model.load_state_dict(again["model"])
    optim.load_state_dict(again["optim"])


def test_a_module_saved_whole_is_refused_by_name(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.nn.Linear(2, 2), path)
    with pytest.raises(ValueError, match=r"torch\.nn\.modules\.linear\.Linear"):
        tw.load(path)


def test_dtypes_that_only_torch_has_are_refused_by_name(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.zeros(3, dtype=torch.float8_e5m2), path)
    with pytest.raises(ValueError, match="float8_e5m2"):
        tw.load(path)


def test_safetensors_both_ways(tmp_path):
    from safetensors.torch import load_file, save_file

    path = tmp_path / "x.safetensors"
    names = [name for name in DTYPES if name != "complex128"]
    tw.io.save_safetensors({name: (tw.arange(6) % 2).to(getattr(tw, name)).reshape(2, 3) for name in names}, path)
    theirs = load_file(path)
    for name, x in tw.io.load_safetensors(path).items():
        check(x, theirs[name])
    save_file(theirs, path)
    for name, x in tw.io.load_safetensors(path).items():
        check(x, theirs[name])
