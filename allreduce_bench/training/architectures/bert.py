"""BERT, registered as `BertModel` of the library transformers does: the encoder with its pooler, without a head.

Devlin, Chang, Lee and Toutanova, "BERT: pre-training of deep bidirectional transformers for language understanding",
NAACL 2019.
"""

from collections.abc import Iterator

from ..tensors import Gradient, Model, ModelError

WORDS, POSITIONS, KINDS = 30522, 512, 2
TOKENS = 512  # of a sequence


def base(tokens: int = TOKENS) -> Model:
    """Return the model: 109,482,240 parameters in 199 tensors."""
    return _bert(Model("bert-base", "BERT-base", tuple(_tensors(768, 12, tokens))), tokens)


def large(tokens: int = TOKENS) -> Model:
    """Return the model: 335,141,888 parameters in 391 tensors."""
    return _bert(Model("bert-large", "BERT-large", tuple(_tensors(1024, 24, tokens))), tokens)


def _bert(model: Model, tokens: int) -> Model:
    """Complete the model. Raises ModelError: there are fewer positions than tokens."""
    if tokens > POSITIONS:
        raise ModelError(f"{model.title} has {POSITIONS} positions; expected a sequence of at most as many tokens")
    return model._replace(sample=f"sequences of {tokens} tokens")


def _tensors(hidden: int, layers: int, tokens: int) -> Iterator[Gradient]:
    for name, rows in (("word", WORDS), ("position", POSITIONS), ("token_type", KINDS)):
        yield Gradient(f"embeddings.{name}_embeddings.weight", (rows, hidden))
    yield from _layer_norm("embeddings.LayerNorm", hidden)
    for number in range(layers):
        yield from _layer(f"encoder.layer.{number}", hidden, tokens)
    yield from _linear("pooler.dense", hidden, hidden, tokens=1)


def _layer(name: str, hidden: int, tokens: int) -> Iterator[Gradient]:
    """Yield self-attention and a feed-forward layer of four times the width: 12 H^2 + 13 H parameters."""
    attention = 2 * 2.0 * tokens**2 * hidden  # scores and their sums, per sample; there is no tensor of their own
    for number, part in enumerate(("query", "key", "value")):
        yield from _linear(f"{name}.attention.self.{part}", hidden, hidden, tokens, 0 if number else attention)
    yield from _linear(f"{name}.attention.output.dense", hidden, hidden, tokens)
    yield from _layer_norm(f"{name}.attention.output.LayerNorm", hidden)
    yield from _linear(f"{name}.intermediate.dense", hidden, 4 * hidden, tokens)
    yield from _linear(f"{name}.output.dense", 4 * hidden, hidden, tokens)
    yield from _layer_norm(f"{name}.output.LayerNorm", hidden)


def _linear(name: str, inner: int, out: int, tokens: int, more: float = 0.0) -> Iterator[Gradient]:
    yield Gradient(f"{name}.weight", (out, inner), 2.0 * out * inner * tokens + more)
    yield Gradient(f"{name}.bias", (out,))


def _layer_norm(name: str, hidden: int) -> Iterator[Gradient]:
    yield Gradient(f"{name}.weight", (hidden,))
    yield Gradient(f"{name}.bias", (hidden,))
