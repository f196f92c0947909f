"""safetensors files: every dtype, metadata, mapped memory, damage."""

import pytest
import thalweg as tw
from safetensors import deserialize

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()


def test_round_trip(tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {name: tw.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(tw, name)) for name in DTYPES}
    tensors.update(scalar=tw.tensor(3.5), empty=tw.empty(0, 4), turned=tw.arange(6).reshape(2, 3).t())
    tw.io.save_safetensors(tensors, path, {"step": "7"})
    back = tw.io.load_safetensors(path)
    assert set(back) == set(tensors)
    for name, x in tensors.items():
        assert back[name].dtype == x.dtype and back[name].shape == x.shape and bool((back[name] == x).all())
    assert tw.io.safetensors_metadata(path) == {"step": "7"}


def test_bytes_are_those_of_the_format(tmp_path):
    path = tmp_path / "x.safetensors"
    tw.io.save_safetensors({"a": tw.tensor([1.0, 2.0]).to(tw.bfloat16)}, path)
    ((name, entry),) = deserialize(path.read_bytes())
    assert (name, entry["dtype"], entry["shape"]) == ("a", "BF16", [2])
    assert bytes(entry["data"]) == b"\x80\x3f\x00\x40"
    assert tw.io.safetensors_metadata(path) == {}


def test_writing_to_loaded_tensors_leaves_the_file(tmp_path):
    path = tmp_path / "x.safetensors"
    tw.io.save_safetensors({"a": tw.zeros(4), "p": tw.nn.Parameter(tw.ones(2))}, path)
    before = path.read_bytes()
    back = tw.io.load_safetensors(path)
    back["a"] += 1
    assert back["a"].tolist() == [1, 1, 1, 1] and path.read_bytes() == before


def test_replaced_file_leaves_loaded_tensors(tmp_path):
    path = tmp_path / "x.safetensors"
    tw.io.save_safetensors({"a": tw.zeros(4)}, path)
    old = tw.io.load_safetensors(path)
    tw.io.save_safetensors({"a": tw.ones(4)}, path)
    assert old["a"].tolist() == [0, 0, 0, 0] and tw.io.load_safetensors(path)["a"].tolist() == [1, 1, 1, 1]


def test_errors(tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(TypeError, match="no dtype complex128"):
        tw.io.save_safetensors({"a": tw.zeros(1, dtype=tw.complex128)}, path)
    with pytest.raises(TypeError, match="names and tensors are wanted"):
        tw.io.save_safetensors({"a": [1.0]}, path)
    with pytest.raises(TypeError, match="metadata maps strings to strings"):
        tw.io.save_safetensors({"a": tw.zeros(1)}, path, {"step": 7})
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        tw.io.load_safetensors(path)
    tw.io.save_safetensors({"a": tw.zeros(100)}, path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="load_safetensors"):
        tw.io.load_safetensors(path)


def test_the_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    tw.io.save_safetensors({"x": tw.ones(2)}, tmp_path / "saved")
    assert (tmp_path / "saved").stat().st_mode == (tmp_path / "other").stat().st_mode
