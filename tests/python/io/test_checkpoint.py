"""save and load: what goes in comes out, memory stays shared, files stay small, damage is an error."""

import io
import os
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict

import pytest
import thalweg as tw

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def through_file(obj, **how):
    file = io.BytesIO()
    tw.save(obj, file)
    file.seek(0)
    return tw.load(file, **how)


def size_of(obj):
    file = io.BytesIO()
    tw.save(obj, file)
    return len(file.getvalue())


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name):
    x = tw.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(tw, name))
    assert same(through_file(x), x)


def test_containers_and_python_values():
    obj = OrderedDict(
        a=[1, 2.5, None, True, "text", b"bytes", b"", 2**70, -3],
        b=({1, 2}, frozenset([3]), 2 + 3j, bytearray(b"x")),
        c={"nested": {"deep": tw.arange(3)}, 4: "four"},
        d=Counter("aab"),
        e=tw.Size([2, 3]),
        f=tw.float16,
        g=tw.device("cpu"),
    )
    obj._metadata = {"version": 1}
    back = through_file(obj)
    assert type(back) is OrderedDict and back._metadata == obj._metadata
    for name in "abdefg":
        assert back[name] == obj[name] and type(back[name]) is type(obj[name])
    assert same(back["c"]["nested"]["deep"], tw.arange(3)) and back["c"][4] == "four"


def test_parameters_and_requires_grad():
    p = tw.nn.Parameter(tw.ones(2, 3))
    x = tw.ones(2, requires_grad=True)
    back = through_file([p, x, tw.nn.Parameter(tw.ones(1), requires_grad=False)])
    assert type(back[0]) is tw.nn.Parameter and back[0].requires_grad and same(back[0], p)
    assert back[1].requires_grad and back[1].is_leaf
    assert type(back[2]) is tw.nn.Parameter and not back[2].requires_grad


def test_loaded_parameters_train():
    p = through_file(tw.nn.Parameter(tw.ones(3)))
    (p * 2).sum().backward()
    with tw.no_grad():
        p -= p.grad
    assert p.tolist() == [-1, -1, -1]


def test_a_tensor_listed_twice_is_one_object():
    x = tw.arange(4)
    back = through_file([x, x])
    assert back[0] is back[1]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[:, 1],
        lambda x: x[1:3],
        lambda x: x[::2, ::3],
        lambda x: x[0, 0],
        lambda x: x[:0],
        lambda x: x[0].expand(5, 6),
        lambda x: x.reshape(2, 2, 6).permute(2, 0, 1),
    ],
)
def test_views(view):
    x = view(tw.arange(24.0).reshape(4, 6))
    assert same(through_file(x), x)


def test_strides_survive_where_memory_is_dense():
    x = tw.arange(24).reshape(4, 6).t()
    assert through_file(x).stride() == x.stride()


def test_slice_saved_alone_makes_a_small_file():
    x = tw.arange(1_000_000, dtype=tw.float32)
    assert size_of(x[:1000]) < 10_000
    assert size_of(x[:1000].clone()) < 10_000
    assert size_of([x[:500], x[900_000:900_500]]) < 10_000
    assert size_of(x.reshape(1000, 1000)[:, 3]) < 10_000
    assert size_of([x[:1000], x]) < 4_010_000
    assert same(through_file(x[:1000]), x[:1000])


def test_overlapping_views_share_memory_after_loading():
    x = tw.arange(1_000_000, dtype=tw.float32)
    a, b, c = through_file([x[:1000], x[500:1500], x[700:900].reshape(2, 100)])
    a[800] = -1
    b[0] = -2
    assert b[300] == -1 and c[1, 0] == -1 and a[500] == -2
    assert size_of([x[:1000], x[500:1500]]) < 10_000


def test_views_of_two_dtypes_are_refused():
    x = tw.zeros(4, dtype=tw.float32)
    with pytest.raises(ValueError, match="save: tensors that share memory must have one dtype"):
        tw.save([x, x.view(tw.int32)], io.BytesIO())


def test_mapped_file(tmp_path):
    path = tmp_path / "x.pt"
    x = tw.arange(100_000, dtype=tw.float64)
    tw.save({"x": x, "half": x[:10].to(tw.bfloat16)}, path)
    before = path.read_bytes()
    back = tw.load(path, mmap=True)
    assert same(back["x"], x) and same(back["half"], x[:10].to(tw.bfloat16))
    back["x"][0] = 5
    assert back["x"][0] == 5 and path.read_bytes() == before
    with pytest.raises(ValueError, match="mmap=True needs a path"):
        tw.load(io.BytesIO(before), mmap=True)


def test_map_location(tmp_path):
    seen = []

    def place(data, location):
        seen.append((data.dtype, data.numel(), location))

    x = tw.arange(3, dtype=tw.int32)
    assert same(through_file(x, map_location=place), x)
    assert seen == [(tw.uint8, 12, "cpu")]
    assert same(through_file(x, map_location="cpu"), x)
    assert same(through_file(x, map_location=tw.device("cpu")), x)
    assert same(through_file(x, map_location={"cuda:0": "cpu"}), x)


def test_storages_lie_aligned_and_uncompressed(tmp_path):
    path = tmp_path / "model.pt"
    tw.save([tw.ones(3), tw.ones(5, dtype=tw.int8), tw.ones(7)], path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        for info in archive.infolist():
            name_bytes, extra_bytes = struct.unpack_from("<HH", data, info.header_offset + 26)
            assert (info.header_offset + 30 + name_bytes + extra_bytes) % 64 == 0
            assert info.compress_type == zipfile.ZIP_STORED
    assert {"model/data.pkl", "model/data/0", "model/data/1", "model/data/2", "model/version"} <= set(names)


def test_equal_objects_make_equal_files():
    def make():
        x = tw.arange(10)
        return {"a": x, "b": x[2:], "c": tw.ones(3)}

    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        tw.save(make(), file)
    assert files[0].getvalue() == files[1].getvalue()


def test_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    tw.save(tw.ones(3), path)
    before = path.read_bytes()
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        tw.save([tw.zeros(3), lambda: None], path)
    with pytest.raises(OSError):
        tw.save(tw.ones(3), tmp_path / "no such folder" / "x.pt")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.pt"]


def test_save_keeps_mode_and_follows_links(tmp_path):
    path, link = tmp_path / "x.pt", tmp_path / "link.pt"
    tw.save(tw.ones(3), path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()
    path.chmod(0o640)
    link.symlink_to(path)
    tw.save(tw.zeros(3), link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert same(tw.load(path), tw.zeros(3))


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("keep", [0, 3, 40, 700, -40, -1])
def test_file_cut_short(tmp_path, keep):
    file = io.BytesIO()
    tw.save(tw.arange(100), file)
    with pytest.raises(ValueError, match="load: "):
        tw.load(io.BytesIO(file.getvalue()[:keep]))


def test_flipped_bit_is_found(tmp_path):
    file = io.BytesIO()
    tw.save(tw.full((1000,), 7.0), file)
    data = bytearray(file.getvalue())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        place = archive.getinfo("archive/data/0").header_offset + 200
    data[place] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        tw.load(io.BytesIO(data))


@pytest.mark.parametrize("content", [b"", b"hello world, this is text", b"\x80\x02K\x05.", b"PK\x03\x04 no zip"])
def test_foreign_file(content):
    with pytest.raises(ValueError, match="load: "):
        tw.load(io.BytesIO(content))


def test_not_a_file():
    with pytest.raises(TypeError, match="load: a path or a binary file is wanted"):
        tw.load(3)
    with pytest.raises(FileNotFoundError):
        tw.load("/no/such/file.pt")
