"""GradScaler inside a compiled step: skipped steps, scales and step counts are those of eager mode."""

import pytest
import thalweg as tw
from thalweg import nn, optim

OPTIMIZERS = {
    "SGD": lambda params: optim.SGD(params, 0.1, momentum=0.9),
    "AdamW": lambda params: optim.AdamW(params, 0.1),
    "Adagrad": lambda params: optim.Adagrad(params, 0.1),
}


def train(name, compiled, clip):
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = OPTIMIZERS[name](model.parameters())
    scaler = tw.amp.GradScaler(init_scale=1024.0, growth_interval=2)

    def step(x):
        optimizer.zero_grad()
        with tw.autocast("cpu", dtype=tw.bfloat16):
            loss = (model(x) ** 2).mean()
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach().float()

    run = tw.jit(step) if compiled else step
    history = []
    for i in range(12):
        x = tw.full((3, 4), 0.1 * i)
        if i in (0, 3, 4, 8):
            x[0, 0] = float("inf")
        run(x)
        state = [
            {
                key: value.tolist() if isinstance(value, tw.Tensor) else value
                for key, value in optimizer.state[p].items()
            }
            for p in model.parameters()
            if p in optimizer.state
        ]
        history.append((scaler.state_dict(), [p.tolist() for p in model.parameters()], state))
    return history, run


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_that_overflow_are_skipped(name, clip):
    expected, _ = train(name, False, clip)
    result, step = train(name, True, clip)
    for i, (a, b) in enumerate(zip(expected, result)):
        assert a == b, i
    assert step.trace_count <= 4, step.explain()


def test_what_cannot_be_known_is_an_error():
    weight = nn.Parameter(tw.ones(2))
    optimizer = optim.SGD([weight], 0.1)
    scaler = tw.amp.GradScaler(init_scale=8.0)

    def begin(x):
        scaler.scale((weight * x).sum()).backward()
        scaler.step(optimizer)

    @tw.jit
    def asks(x):
        begin(x)
        scaler.update()
        return scaler.get_scale()

    @tw.jit
    def forgets(x):
        begin(x)

    with pytest.raises(RuntimeError, match="known only when"):
        asks(tw.ones(2))
    with pytest.raises(RuntimeError, match="must step and update"):
        forgets(tw.ones(2))
    assert scaler.get_scale() == 8 and weight.tolist() == [1, 1] and weight.grad is None

    @tw.jit
    def works(x):
        before = scaler.get_scale()
        begin(x)
        scaler.update(4.0)
        return before

    assert works(tw.ones(2)) == 8 and scaler.get_scale() == 4
    weight.grad = None
    assert works(tw.ones(2)) == 4 and scaler.get_scale() == 4
