"""Trains a character-level GPT on text, by default on the source code of Python's standard library.

    python examples/train_gpt.py                    # about three minutes on two cores
    python examples/train_gpt.py --data book.txt    # any other text
    python examples/train_gpt.py --resume           # goes on from the checkpoint as if it had never stopped
    python examples/train_gpt.py --graph            # the step as a static program: the same losses
    python examples/train_gpt.py --devices 4        # on four devices of this process: the same losses
    python examples/train_gpt.py --graph --mesh 2x2 --plan dp,tp    # a role for each axis (see parallel.py)
    thalweg run --nproc 4 examples/train_gpt.py --mesh 2x2 --plan dp,tp    # in four processes
    python examples/train_gpt.py --device cuda --devices 4 --graph         # on four GPUs

Writes `checkpoint` (model, optimizer, random state, losses; it loads on any mesh) and `loss.png` into the folder --out.
The last tenth of the text is held out; its loss is printed beside the entropy of the text's bigrams.
"""

import argparse
import hashlib
import math
from pathlib import Path

import numpy as np
import thalweg as tw
from gpt import GPT
from matplotlib.figure import Figure
from parallel import Mesh
from text import Vocabulary, bigram_entropy, read_text
from thalweg import nn, optim
from thalweg.distributed import checkpoint
from thalweg.nn import functional as F
from tqdm import tqdm


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", help="a text file, or a folder of Python files")
    add("--out", type=Path, default=Path("out/gpt"), help="folder of the results (%(default)s)")
    add("--resume", action="store_true", help="go on from the checkpoint; the other settings are its own")
    add("--graph", action="store_true", help="run the training step as a static program (tw.jit)")
    add("--device", default="cpu", choices=("cpu", "cuda"), help="where to train (%(default)s)")
    add("--devices", type=int, help="devices to cut this process into; the mesh is one axis of them")
    add("--mesh", help="the array of devices, such as 2x2")
    add("--plan", default="dp", help="dp or tp for each axis of the mesh (%(default)s)")
    add("--stop", type=int, help="save and leave after this step")
    add("--steps", type=int, default=1600, help="(%(default)s)")
    add("--batch", type=int, default=8, help="sequences in a step (%(default)s)")
    add("--context", type=int, default=128, help="characters in a sequence (%(default)s)")
    add("--width", type=int, default=128, help="(%(default)s)")
    add("--layers", type=int, default=5, help="(%(default)s)")
    add("--heads", type=int, default=4, help="(%(default)s)")
    add("--dropout", type=float, default=0.05, help="(%(default)s)")
    add("--lr", type=float, default=3e-3, help="the highest learning rate (%(default)s)")
    add("--warmup", type=int, default=100, help="steps until the learning rate is highest (%(default)s)")
    add("--clip", type=float, default=1.0, help="the largest norm of the gradient (%(default)s)")
    add("--eval-every", type=int, default=200, help="steps between validations and checkpoints (%(default)s)")
    add("--eval-batches", type=int, default=64, help="(%(default)s)")
    add("--sample", type=int, default=500, help="characters to write at the end (%(default)s)")
    add("--seed", type=int, default=0, help="(%(default)s)")
    return parser.parse_args(arguments)


# What a checkpoint decides, so that a resumed run is the same run.
SETTINGS = "steps batch context width layers heads dropout lr warmup clip eval_every eval_batches seed".split()


class Trainer:
    """A model, its optimizer and all that the next step depends on."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        text = read_text(options.data)
        self.text_hash = hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()
        self.path = options.out / "checkpoint"
        head = self._read_head() if options.resume else {}
        mesh = options.mesh or options.devices and str(options.devices)
        self.mesh = Mesh(mesh, options.plan, options.device) if mesh else None
        # Of local tensors: what a mesh is given comes from the CPU.
        self.device = "cpu" if self.mesh else options.device
        self.vocabulary = Vocabulary(head["vocabulary"]) if head else Vocabulary.of(text)
        tokens = self.vocabulary.encode(text)
        self.bigram_entropy = bigram_entropy(tokens)
        tokens = tw.from_numpy(tokens.astype(np.int16)).to(self.device)
        self.train_tokens, self.held_out = tokens[: -len(tokens) // 10], tokens[-len(tokens) // 10 :]
        if len(self.held_out) <= options.context:
            raise ValueError(f"--data: {10 * options.context + 10} characters or more are wanted, got {len(tokens)}")

        tw.manual_seed(options.seed)
        o = options
        self.model = GPT(len(self.vocabulary), o.context, o.width, o.layers, o.heads, o.dropout)
        if self.mesh:
            self.mesh.place(self.model)
        else:
            self.model.to(self.device)
        self.parameters = list(self.model.parameters())
        matrices, vectors = ([p for p in self.parameters if (p.ndim > 1) == wanted] for wanted in (True, False))
        groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
        self.optimizer = optim.AdamW(groups, lr=o.lr, betas=(0.9, 0.99), weight_decay=0.1)
        self.learn = tw.jit(self._learn) if o.graph else self._learn
        self.losses: list[float] = []  # of every step
        self.validations: list[tuple[int, float]] = []  # (step, loss)
        if head:
            self._load()

    @property
    def step(self) -> int:
        """How many steps are done."""
        return len(self.losses)

    # ---- learning

    def learning_rate(self) -> float:
        """Rises in a line, then falls to a tenth along a half cosine (Loshchilov & Hutter, 2017)."""
        o = self.options
        if self.step < o.warmup:
            return o.lr * (self.step + 1) / o.warmup
        done = (self.step - o.warmup) / max(1, o.steps - o.warmup)
        return o.lr * (0.55 + 0.45 * math.cos(math.pi * done))

    def loss(self, tokens: tw.Tensor, starts: tw.Tensor) -> tw.Tensor:
        """The mean cross-entropy of the sequences that begin at `starts`, an int64 tensor of (B,)."""
        windows = tokens[starts[:, None] + tw.arange(self.options.context + 1, device=self.device)].long()
        if self.mesh:
            windows = self.mesh.batch(windows)
        logits = self.model(windows[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())

    def _learn(self) -> tw.Tensor:
        """Takes a step on one batch and returns its loss."""
        highest = len(self.train_tokens) - self.options.context
        starts = tw.randint(highest, (self.options.batch,), device=self.device)
        loss = self.loss(self.train_tokens, starts)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, self.options.clip)
        self.optimizer.step()
        return loss.detach()

    def train_step(self) -> float:
        """Learns from one batch and returns its loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        self.losses.append(self.learn().item())
        return self.losses[-1]

    @tw.no_grad()
    def validate(self) -> float:
        """The loss on sequences spread evenly over the text held out, always the same ones."""
        self.model.eval()
        count = self.options.eval_batches * self.options.batch
        starts = tw.arange(count, device=self.device) * (len(self.held_out) - self.options.context) // count
        losses = [self.loss(self.held_out, part).item() for part in starts.split(self.options.batch)]
        self.model.train()
        self.validations.append((self.step, sum(losses) / len(losses)))
        return self.validations[-1][1]

    def sample(self, count: int, prompt: str = "\nclass ") -> str:
        """The prompt and `count` characters that the model goes on with."""
        self.model.eval()
        tokens = tw.from_numpy(self.vocabulary.encode(prompt))[None].to(self.device)
        if self.mesh:
            tokens = self.mesh.everywhere(tokens)
        return self.vocabulary.decode(self.model.generate(tokens, count)[0].tolist())

    # ---- the checkpoint

    def state(self) -> dict:
        """All that the next step depends on, and the history."""
        head = {name: getattr(self.options, name) for name in SETTINGS}
        return {
            "run": head | {"vocabulary": self.vocabulary.characters, "text": self.text_hash},
            "model": self.model,
            "optimizer": self.optimizer,
            "random": tw.get_rng_state(),
            "losses": self.losses,
            "validations": self.validations,
        }

    def save(self) -> None:
        """Writes the checkpoint, or replaces it, in one step: who reads it sees a whole one."""
        checkpoint.save(self.state(), self.path)

    def _read_head(self) -> dict:
        """The settings in the checkpoint, which replace those of the command line."""
        saved = {"run": None}
        checkpoint.load(saved, self.path)
        head = saved["run"]
        if head["text"] != self.text_hash:
            raise ValueError(f"--resume: the text that {self.path} was trained on is wanted, got another")
        for name in SETTINGS:
            setattr(self.options, name, head[name])
        return head

    def _load(self) -> None:
        """Puts back what `save` wrote."""
        state = self.state()
        checkpoint.load(state, self.path)
        tw.set_rng_state(state["random"])
        self.losses, self.validations = state["losses"], state["validations"]


def plot(trainer: Trainer, path: Path) -> None:
    """Draws the losses, with the bigram entropy for comparison."""
    figure = Figure(figsize=(8, 5))
    axes = figure.subplots()
    width = max(1, trainer.step // 50)
    smooth = np.convolve(trainer.losses, np.ones(width) / width, mode="valid")
    axes.plot(trainer.losses, color="C0", alpha=0.2)
    axes.plot(np.arange(width, trainer.step + 1), smooth, color="C0", label="training")
    axes.plot(*zip(*trainer.validations), "o-", color="C1", label="validation")
    axes.axhline(trainer.bigram_entropy, color="gray", linestyle="--", label="bigram entropy")
    axes.set(xlabel="step", ylabel="loss, nats a character")
    axes.legend()
    figure.savefig(path, dpi=120)


def main(arguments: list[str] | None = None) -> Trainer:
    options = parse_options(arguments)
    trainer = Trainer(options)
    first = tw.env.get_rank() == 0  # of several processes one speaks
    say = print if first else lambda _: None
    count = sum(p.numel() for p in trainer.parameters)
    say(f"{count:,} parameters, {len(trainer.train_tokens):,} characters of {len(trainer.vocabulary)} kinds to learn")

    tokens = options.batch * options.context
    end = min(options.steps, options.stop or options.steps)
    with tqdm(total=options.steps * tokens, initial=trainer.step * tokens, unit="tok", unit_scale=True,
              disable=not first) as bar:  # fmt: skip
        while trainer.step < end:
            loss = trainer.train_step()
            bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
            bar.update(tokens)
            if trainer.step % options.eval_every == 0 or trainer.step == options.steps:
                loss = trainer.validate()
                if first:
                    bar.write(f"step {trainer.step:5}: validation loss {loss:.4f}")
                trainer.save()
    if trainer.step < options.steps:
        trainer.save()
        return trainer

    if first:
        plot(trainer, options.out / "loss.png")
    say(trainer.sample(options.sample))
    final = trainer.validations[-1][1]
    say(f"\nvalidation loss {final:.3f} = {final / trainer.bigram_entropy:.2f} of the bigram entropy "
          f"{trainer.bigram_entropy:.3f}; see {options.out}")  # fmt: skip
    return trainer


if __name__ == "__main__":
    main()
