"""nn.parallel.DistributedDataParallel: the gradients of all ranks' samples together, on every rank."""

MODEL = """
nn, F = tw.nn, tw.nn.functional
DDP = nn.parallel.DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(6, 8), nn.BatchNorm1d(8)
        self.second, self.spare = nn.Linear(8, 3), nn.Linear(8, 3)
    def forward(self, x, which="second"):
        return getattr(self, which)(self.norm(self.first(x)).relu())

def made(seed):
    tw.manual_seed(seed)
    return Net()

def agree(tensors):
    mine = [t.tolist() for t in tensors]
    everybody = [None] * size
    dist.all_gather_object(everybody, mine)
    assert all(theirs == mine for theirs in everybody), "ranks differ"

tw.manual_seed(7)
x, y = tw.randn(4 * size, 6), tw.randint(3, (4 * size,))
mine = slice(4 * rank, 4 * rank + 4)
"""


def test_steps_are_those_of_one_process_with_all_samples(ranks):
    outcome = ranks(
        2,
        MODEL
        + """
alone, net = made(0), made(rank)
del alone.spare, net.spare
model = DDP(net, bucket_cap_mb=0.0002, process_group=dist.new_group([1, 0]))  # several buckets
agree(model.parameters())
alone.load_state_dict(model.module.state_dict())
alone.norm.eval(); model.module.norm.eval()  # else each rank normalises over its own samples
optimizers = [tw.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (alone, model)]
for step in range(5):
    for m, o, part in zip((alone, model), optimizers, (slice(None), mine)):
        o.zero_grad()
        F.cross_entropy(m(x[part]), y[part]).backward()
        o.step()
for a, b in zip(alone.parameters(), model.parameters()):
    assert tw.allclose(a, b, rtol=1e-5, atol=1e-6), (a, b)
agree(model.parameters())
print("done")
""",
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("done") == 2


def test_gradients_may_be_accumulated_before_they_are_sent(ranks):
    outcome = ranks(
        2,
        MODEL
        + """
net = made(0); del net.spare, net.norm; net.norm = nn.Identity()
model = DDP(net)
def backward(part): F.cross_entropy(model(x[part]), y[part], reduction="sum").backward()
backward(mine)
wanted = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
with model.no_sync():
    backward(slice(4 * rank, 4 * rank + 1))
    assert not tw.allclose(model.module.first.weight.grad, wanted[0])
backward(slice(4 * rank + 1, 4 * rank + 4))
for p, w in zip(model.parameters(), wanted): assert tw.allclose(p.grad, w, rtol=1e-5, atol=1e-6)
agree([p.grad for p in model.parameters()])
""",
    )
    assert outcome.code == 0, outcome.err


def test_parameters_without_gradient_are_named_or_looked_for(ranks):
    outcome = ranks(
        2,
        MODEL
        + """
model = DDP(made(0))
model(x[mine]).sum().backward()
try: model(x[mine])
except RuntimeError as error: assert "no gradient to ['spare.weight', 'spare.bias']" in str(error), error
else: sys.exit("no error")

model = DDP(made(0), find_unused_parameters=True)
model(x[mine]).sum().backward()  # used nowhere
assert model.module.spare.weight.grad is None
agree([model.module.second.weight.grad])
model.zero_grad()
model(x[mine], "spare" if rank else "second").sum().backward()  # each used on one rank
agree([p.grad for p in model.parameters()])
alone = made(0)
alone(x[4:8], "spare").sum().backward()
assert tw.allclose(model.module.spare.weight.grad, alone.spare.weight.grad / 2, rtol=1e-5, atol=1e-6)
""",
    )
    assert outcome.code == 0, outcome.err


def test_buffers_are_those_of_the_first_rank(ranks):
    outcome = ranks(
        2,
        MODEL
        + """
net = made(0); del net.spare
model = DDP(net)
for _ in range(2): model(x[mine]).sum().backward()
model(x[mine])
seen = [None] * size
dist.all_gather_object(seen, net.norm.num_batches_tracked.item())
assert seen == [3, 3]
model.train(); model(x[mine]).sum().backward(); model.eval()
with tw.no_grad(): model(x[mine])
assert not (rank and net.norm.running_mean.tolist() == [0] * 8)
""",
    )
    assert outcome.code == 0, outcome.err


def test_models_that_differ_are_refused_everywhere(ranks):
    outcome = ranks(
        3,
        """
        try: tw.nn.parallel.DistributedDataParallel(tw.nn.Linear(2, 3 if rank == 1 else 4))
        except ValueError as error: print("refused:", error)
        """,
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("refused: DistributedDataParallel: equal modules are wanted, but rank 1 differs") == 3
