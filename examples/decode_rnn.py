"""Learns to spell the names in Python's builtins, and spells new ones: a recurrent network that says when to stop.

    python examples/decode_rnn.py

The decoder is an ordinary Python loop over tensors: `while` with a `break` where every word has come to its end.
Compiled by `tw.jit` it is one program that runs as many steps as the words need, 1 or 1,000, without tracing again.
"""

import argparse
import builtins
import time

import thalweg as tw
from thalweg import nn, optim
from thalweg.nn import functional as F

END = 0  # also stands before the first letter


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400, help="of training (%(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="words of a training step (%(default)s)")
    parser.add_argument("--words", type=int, default=8, help="to spell (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    return parser.parse_args(arguments)


class Speller(nn.Module):
    """Letters (N, T) int64 to scores of the next ones (N, T, letters), one at a time."""

    def __init__(self, letters: int, width: int = 64) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(letters, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, letters)

    def step(self, letter: tw.Tensor, state: tw.Tensor) -> tuple[tw.Tensor, tw.Tensor]:
        state = self.cell(self.embedding(letter), state)
        return self.head(state), state

    def forward(self, letters: tw.Tensor) -> tw.Tensor:
        def step(state: tw.Tensor, letter: tw.Tensor) -> tuple[tw.Tensor, tw.Tensor]:
            scores, state = self.step(letter, state)
            return state, scores

        _, scores = tw.scan(step, tw.zeros(letters.shape[0], self.width), letters.t())
        return scores.transpose(0, 1)

    def decode(self, letter: tw.Tensor, most: tw.Tensor, room: int) -> tuple[tw.Tensor, tw.Tensor]:
        """Spells one word for each first letter (N,), of `most` letters at most: ((N, room) int64, steps taken)."""
        count = letter.shape[0]
        spelled = tw.full((count, room), END)
        state = tw.zeros(count, self.width)
        ended = letter == END
        steps = tw.tensor(0)
        while steps < most:
            spelled[:, steps] = letter
            steps = steps + 1
            scores, state = self.step(letter, state)
            letter = tw.where(ended, END, scores.argmax(1))
            ended = ended | (letter == END)
            if ended.all():
                break
        return spelled, steps


def load_words() -> tuple[list[str], str]:
    """Words, and their letters, of which number 0 is the end of a word."""
    words = sorted({name.lower() for name in dir(builtins) if name.isalpha()})
    return words, "." + "".join(sorted({letter for word in words for letter in word}))


def main(arguments: list[str] | None = None) -> list[str]:
    options = parse_options(arguments)
    tw.manual_seed(options.seed)
    words, letters = load_words()
    longest = max(map(len, words)) + 1
    numbers = tw.zeros(len(words), longest + 1, dtype=tw.int64)
    for i, word in enumerate(words):
        numbers[i, 1 : len(word) + 1] = tw.tensor([letters.index(letter) for letter in word])
    model = Speller(len(letters))
    optimizer = optim.AdamW(model.parameters(), lr=5e-3)

    @tw.jit
    def learn(batch: tw.Tensor) -> tw.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    for step in range(options.steps):
        loss = learn(numbers[tw.randint(len(words), (options.batch,))])
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}")

    decode = tw.jit(model.decode)
    first = tw.randint(1, len(letters), (options.words,))
    for most in (1, 2, longest, 1000):
        begun = time.perf_counter()
        with tw.no_grad():
            spelled, steps = decode(first, tw.tensor(most), 1000)
        print(f"at most {most} letters: {steps.item()} steps, {1e3 * (time.perf_counter() - begun):.1f} ms")
    result = ["".join(letters[i] for i in row if i != END) for row in spelled.tolist()]
    print(f"{decode.trace_count} build:", ", ".join(result))
    with tw.no_grad():
        same = model.decode(first, tw.tensor(1000), 1000)
    assert spelled.equal(same[0]) and steps.equal(same[1])
    return result


if __name__ == "__main__":
    main()
