"""Loading is safe by default: only the table of names, and no way around it."""

import io
import os
import pickle
import zipfile

import pytest
import thalweg as tw
from thalweg.io import UnsafeGlobalError


class Custom:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Custom and self.value == other.value

    __hash__ = None


class Caller:
    """Pickles as a call."""

    def __init__(self, function, *args):
        self.call = (function, args)

    def __reduce__(self):
        return self.call


def checkpoint(data):
    """A checkpoint whose pickle is `data` and that holds one storage of four zero floats."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/data/0", bytes(16))
        archive.writestr("a/version", b"3\n")
    file.seek(0)
    return file


@pytest.fixture(autouse=True)
def _clean_table():
    yield
    tw.io.clear_safe_globals()


def test_calls_are_refused_by_name(tmp_path):
    target = tmp_path / "made"
    for attack in (Caller(os.mkdir, str(target)), Caller(eval, "1"), Caller(getattr, 1, "real")):
        file = checkpoint(pickle.dumps(attack, 2))
        name = f"{attack.call[0].__module__}.{attack.call[0].__name__}"
        with pytest.raises(UnsafeGlobalError, match=f"names {name}"):
            tw.load(file)
    assert not target.exists()


def test_refusal_is_a_value_error_and_an_unpickling_error():
    for kind in (ValueError, pickle.UnpicklingError):
        with pytest.raises(kind, match="add_safe_globals"):
            tw.load(checkpoint(pickle.dumps(Custom(1), 2)))


def test_attributes_of_what_a_pickle_names_cannot_be_set():
    for name in (b"torch._utils\n_rebuild_tensor_v2", b"collections\nOrderedDict", b"torch\nFloatStorage"):
        for state in (b"}U\x06targetNs", b"N}U\x06targetNs\x86", b"N}U\x06_dtypeNs\x86"):
            with pytest.raises(ValueError, match="load: "):
                tw.load(checkpoint(b"\x80\x02c" + name + b"\n" + state + b"b."))
    assert tw.load(saved(tw.ones(2))).tolist() == [1, 1]


def saved(obj):
    file = io.BytesIO()
    tw.save(obj, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)),
        (4, (1,), (1,)),
        (0, (2, 2), (3, 1)),
        (-1, (1,), (1,)),
        (0, (-1,), (1,)),
        (3, (2,), (-1,)),
        (0, (2,), (1, 1)),
        (2**62, (2,), (2**62,)),
        (0, ("1",), (1,)),
    ],
)
def test_tensors_outside_their_storage_are_refused(offset, size, stride):
    class Storage:
        pass

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return ("storage", "TYPE", "0", "cpu", 4) if isinstance(obj, Storage) else None

    file = io.BytesIO()
    Pickler(file, 2).dump(Caller(pickle.loads, Storage(), offset, size, stride, False, None))
    data = file.getvalue().replace(b"cpickle\nloads\n", b"ctorch._utils\n_rebuild_tensor_v2\n")
    kind = b"X\x04\x00\x00\x00TYPE"
    assert kind in data and b"_rebuild_tensor_v2" in data
    with pytest.raises(ValueError, match="load: "):
        tw.load(checkpoint(data.replace(kind, b"ctorch\nFloatStorage\n")))


def test_add_safe_globals():
    file = saved(Custom(3))
    with tw.io.safe_globals([Custom]):
        assert tw.load(file) == Custom(3)
        assert tw.io.get_safe_globals() == [Custom]
    file.seek(0)
    with pytest.raises(UnsafeGlobalError):
        tw.load(file)
    tw.io.add_safe_globals([(Custom, f"{Custom.__module__}.Custom")])
    file.seek(0)
    assert tw.load(file) == Custom(3)
    with pytest.raises(TypeError, match="add_safe_globals"):
        tw.io.add_safe_globals(["Custom"])


def test_weights_only_false_loads_anything():
    assert tw.load(saved([Custom(1), tw.ones(1)]), weights_only=False)[0] == Custom(1)


def test_bytes_by_codec_are_latin1_only():
    data = b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00utf-7\x86R."
    with pytest.raises(UnsafeGlobalError, match="latin1"):
        tw.load(checkpoint(data))


def test_dtype_that_thalweg_lacks_is_refused_by_name():
    with pytest.raises(UnsafeGlobalError, match=r"torch\.QInt8Storage"):
        tw.load(checkpoint(b"\x80\x02ctorch\nQInt8Storage\n."))


def test_damaged_pickles_are_value_errors():
    file = saved({"x": tw.arange(6.0), "p": tw.nn.Parameter(tw.ones(2)), "text": "text"})
    with zipfile.ZipFile(file) as archive:
        good = archive.read("archive/data.pkl")
    for position in range(2, len(good)):
        for value in (0x00, 0x2E, 0x51, 0x52, 0x62, 0x74, 0xFF):
            data = bytearray(good)
            data[position] = value
            try:
                tw.load(checkpoint(data))
            except ValueError as error:
                assert "load: " in str(error)
            except MemoryError:
                pass  # a length that the change has made huge
