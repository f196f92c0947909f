"""Reading the exported composites from sources."""

from exported import composites

SOURCE = """
from thalweg._registry import export

@export(function=True, method=True, name="clip_")
def _clip(input: Tensor, low: "float | None" = None, *, device: Device = None) -> Tensor:
    pass

@export(nn=True)
def loss(input, target):
    pass

def helper():
    pass
"""


def test_signatures_come_from_the_source(tmp_path):
    (tmp_path / "ops.py").write_text(SOURCE)
    clip, loss = composites(tmp_path)
    assert clip.places == ("function", "method") and loss.places == ("nn.functional",)
    assert clip.signature(method=True) == (
        "def clip_(self, low: float | None=None, *, device: Any=None) -> Tensor: ..."
    )
    assert loss.signature(method=False) == "def loss(input, target) -> Any: ..."
