"""Files that PyTorch has written: the zip format, and the stream and tar formats of its older versions.

ZIP and STREAM were written by PyTorch 2.13, as base-85 text of their zlib-compressed bytes, from
    x = arange(6.); {"x": x, "tail": x[4:], "p": Parameter(ones(2, 2).t()), "b": bfloat16 [1.5, -2], "n": 7}
"""

import base64
import io
import pickle
import struct
import tarfile
import zlib
from collections import OrderedDict

import pytest
import thalweg as tw

ZIP = (
    b"c-o~^&u`LD9DfujtSV!33Y$8AD>IYvqXVW<OtaKO4+6%8?1CNCwXp-f<*})!B?f=oG~SJg@o(_De?jBXc-g^u^5Dgz@3k9iI|1ij`gm!1"
    b"pC7N^A1z2;A40((+B3pv6v;+a)mD|6nvCUm^Pw&ZA++ci>rA!U&~>GXwMM<g-7#v4q15KJD&_!9mB14#dkEPhV5+!5*y5Eo*7O!vF_fjY"
    b"rq?Q1ska(NWi`ctHx?@g$mSN=DK9JFvml(PH)MR*ddPv_BuoHX_L8;QY(qd|F$9YelGqLmNuCaHFI6gj2*cqL94V6%A}nh<gjAxT`c%Kl"
    b"swQf<DETC&17V69u~4HJj+S7|lxf1T9=@BhA+IP{F*rEB!)ij35Fy+?3{mQck(g&NE_vuOVey~9aIyraUYIwN&*5|l&X~w0IBPL&pIa~w"
    b"p3HQQe$L#Mg7ZXx!EnJ8=)gs4{*pz08AGfDQ|87xT#*9pctHvT=S6nyJ$XiFp=Zb=DB2Bq{6WK5k#S{JF<K<FqA=!)yfu=P{o~KCPpKfC"
    b"z1b&Fc9(rS#uZuDmg_4@9g9NxuL1)`hNlMdYw&|15=>tMBPicBu=E%!4VtW?aQ%ODcZRNEtSi(*=f>tZOH|mt9zy7*qpD^SqHyg11}xU~"
    b"Jo&jrE;852e0PgFioE*%I!gYC4sbN>bd(f@82Wd8s=Yg@?!uV56*fCae_h_Gn-Yb@zTd<~9&J#~Kyh)CmbtI5=CCaTx`}<D_@_Cl{^{-V"
    b"y}|i6iBh`-U>>=p7#gX7Co=7x6|E);@qL;}<oG#0m&@_lxy)>W&t=oIiDWjNPVzjTO=bC9CYwvoCbQJ#^oKX!V#G(xbm^gHyFTp=BD}}B"
    b"`#a!9+Z#Z{f&Aq`y;_Q!#9qV`4w52+`g9IAkG&8_96X<GJlzK1hTE$q<bW@Dk*jvySbOF>v0H9z(v7ueuoHXV=fbAkSbP2rJFs7D*dFiQ"
    b"o)(i1aLJDbBy2%q+3B71_FnBGhg|Dz##(>-t(D*cX3V!eSYHl5Yhi}W{np+;2U6ou"
)

STREAM = (
    b"c-nQ6OK;RL5XT)Sn*~Elc~hRHyaGroHqBCUYK2fQ7LSHYE>)CfttKcW8ONyrsnT8+3ZH=kM?OZs4j%!D1LFix5z8p!$dmE^H#5$Jeq#BL"
    b"&l}&DUVVMBIGE6<-%MQhfH>g-A*7O}Dw8sgc7?37vH$}U!a4ksXG-NF62&-+3!wWU!=QRwiKx!ri5kp3u$-`m!8$Faf*z-#iMy;&U~?<9"
    b"v_@I%K%ZMpgUkdmxkwaJYW7@?g%sl_S)v$_y8#$ZXyA!AKoeEUBppPJ%JP~;QfxO_K8}<q>QY9#E(6nX!oCJ$X1pW7>W;9Dyo}Y$F36x4"
    b"&SQ@6`9t@?itBp*Xyk(3)|gZcmSsOvaAcDcZcpJTH>SWorn;143XTUb*LI-dEQk3NiK&&&R6LP(N(-CZ;&cipwbH3h>9m3~0i10+tKi&!"
    b"I;&zCzZObJ2Iv1F4SjFqd#nB<4=y0dLeiqHnR5CbE^<S^E_Jla3a$ijb-&$Q`v6M;TyN3au-xhXn$zQUP{W6RMs?$F+{&ttjom~XMcl0x"
    b"H-+1}u{#~gQGn~cR=t4xyss~KOaD|egp66u&{?xI#ekB|4%WzlMSk04?XcVAu<00C#|M3a{$>3q+HSw$"
)


def file_of(text):
    return io.BytesIO(zlib.decompress(base64.b85decode(text)))


@pytest.mark.parametrize("text", [ZIP, STREAM], ids=["zip", "stream"])
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_of_pytorch(text, weights_only):
    back = tw.load(file_of(text), weights_only=weights_only)
    assert type(back) is OrderedDict and list(back) == ["x", "tail", "p", "b", "n"]
    assert back["x"].dtype == tw.float32 and back["x"].tolist() == [0, 1, 2, 3, 4, 5]
    assert type(back["p"]) is tw.nn.Parameter and back["p"].stride() == (1, 2) and back["p"].requires_grad
    assert back["b"].dtype == tw.bfloat16 and back["b"].tolist() == [1.5, -2] and back["n"] == 7
    back["x"][5] = -1
    assert back["tail"].tolist() == [4, -1]


def test_mapped_zip(tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(file_of(ZIP).getvalue())
    assert tw.load(path, mmap=True)["b"].tolist() == [1.5, -2]
    path.write_bytes(file_of(STREAM).getvalue())
    with pytest.raises(ValueError, match="needs the zip format"):
        tw.load(path, mmap=True)


@pytest.mark.parametrize("text", [ZIP, STREAM], ids=["zip", "stream"])
def test_every_cut_is_an_error(text):
    data = file_of(text).getvalue()
    for length in range(0, len(data), 7):
        with pytest.raises(ValueError, match="load: "):
            tw.load(io.BytesIO(data[:length]))


def test_stream_moves_storages():
    seen = []
    back = tw.load(file_of(STREAM), map_location=lambda data, where: seen.append(where) or data.clone())
    assert seen == ["cpu"] * 3 and back["x"].tolist() == [0, 1, 2, 3, 4, 5]


def global_name(name):
    return b"c" + name.replace(b".", b"\n") + b"\n"


def tar_checkpoint():
    """A file in the tar format: storage 1 of four floats, its view 2, tensors 10 (2 x 2) and 11, a dict of both."""

    def pickled(*values):
        return pickle.dumps(values if len(values) > 1 else values[0], 2)

    def with_type(key, second, name):
        return b"\x80\x02K" + bytes([key]) + second + global_name(name) + b"\x87."

    def tensor(key, storage, size, stride, offset):
        geometry = struct.pack(f"<i4x{len(size)}q{len(size)}qq", len(size), *size, *stride, offset)
        return with_type(key, b"K" + bytes([storage]), b"torch.FloatTensor") + geometry

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj if type(obj) is int and obj >= 10 else None

    obj = io.BytesIO()
    Pickler(obj, 2).dump({"a": 10, "b": 11, "n": 3})
    location = b"X\x03\x00\x00\x00cpu"
    storages = pickled(1) + with_type(1, location, b"torch.FloatStorage") + struct.pack("<q4f", 4, 1, 2, 3, 4)
    members = {
        "sys_info": pickled({"little_endian": True}),
        "pickle": obj.getvalue(),
        "storages": storages + pickled([(2, 1, 1, 3)]),
        "tensors": pickled(2) + tensor(10, 1, (2, 2), (1, 2), 0) + tensor(11, 2, (2,), (1,), 1),
    }
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def test_tar():
    back = tw.load(io.BytesIO(tar_checkpoint()))
    assert back["a"].tolist() == [[1, 3], [2, 4]] and back["b"].tolist() == [3, 4] and back["n"] == 3
    back["b"][0] = -1
    assert back["a"][0, 1] == -1


def test_damaged_tar():
    data = tar_checkpoint()
    for length in (600, 1100, 2000, 3000):
        with pytest.raises(ValueError, match="load: "):
            tw.load(io.BytesIO(data[:length]))
