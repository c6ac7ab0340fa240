"""BERT, registered as `BertModel` of the library transformers does: the encoder with its pooler, without a head.

Devlin, Chang, Lee and Toutanova, "BERT: pre-training of deep bidirectional transformers for language understanding",
NAACL 2019.
"""

from collections.abc import Iterator

from ..tensors import Gradient, Model
from .layers import linear, norm

WORDS, KINDS = 30522, 2
TOKENS = 512  # of a sequence, each with a position


def base() -> Model:
    """Return the model: 109,482,240 parameters in 199 tensors."""
    return Model("bert-base", "BERT-base", tuple(_tensors(768, 12)))


def large() -> Model:
    """Return the model: 335,141,888 parameters in 391 tensors."""
    return Model("bert-large", "BERT-large", tuple(_tensors(1024, 24)))


def _tensors(hidden: int, layers: int) -> Iterator[Gradient]:
    for name, rows in (("word", WORDS), ("position", TOKENS), ("token_type", KINDS)):
        yield Gradient(f"embeddings.{name}_embeddings.weight", (rows, hidden))
    yield from norm("embeddings.LayerNorm", hidden)
    for number in range(layers):
        yield from _layer(f"encoder.layer.{number}", hidden)
    yield from linear("pooler.dense", hidden, hidden)


def _layer(name: str, hidden: int) -> Iterator[Gradient]:
    """Yield self-attention and a feed-forward layer of four times the width: 12 H^2 + 13 H parameters."""
    attention = 2 * 2.0 * TOKENS**2 * hidden  # scores and their sums, per sample; there is no tensor of their own
    for number, part in enumerate(("query", "key", "value")):
        yield from linear(f"{name}.attention.self.{part}", hidden, hidden, TOKENS, 0 if number else attention)
    yield from linear(f"{name}.attention.output.dense", hidden, hidden, TOKENS)
    yield from norm(f"{name}.attention.output.LayerNorm", hidden)
    yield from linear(f"{name}.intermediate.dense", hidden, 4 * hidden, TOKENS)
    yield from linear(f"{name}.output.dense", 4 * hidden, hidden, TOKENS)
    yield from norm(f"{name}.output.LayerNorm", hidden)
