"""GPT-2, registered as `GPT2LMHeadModel` of the library transformers does; the output layer shares the embedding.

Radford, Wu, Child, Luan, Amodei and Sutskever, "Language models are unsupervised multitask learners", 2019.
"""

from collections.abc import Iterator

from ..tensors import Gradient, Model
from .layers import norm

WORDS = 50257
TOKENS = 1024  # of a sequence, each with a position


def small() -> Model:
    """Return the model: 124,439,808 parameters in 148 tensors."""
    return _gpt2("gpt2", "GPT-2", 768, 12)


def xl() -> Model:
    """Return the model: 1,557,611,200 parameters in 580 tensors."""
    return _gpt2("gpt2-xl", "GPT-2 XL", 1600, 48)


def _gpt2(name: str, title: str, hidden: int, layers: int) -> Model:
    head = 2.0 * WORDS * hidden * TOKENS  # of the shared weights, whose gradient waits for the embedding
    return Model(name, title, tuple(_tensors(hidden, layers)), flops_without_gradient=head)


def _tensors(hidden: int, layers: int) -> Iterator[Gradient]:
    yield Gradient("transformer.wte.weight", (WORDS, hidden))
    yield Gradient("transformer.wpe.weight", (TOKENS, hidden))
    for number in range(layers):
        yield from _layer(f"transformer.h.{number}", hidden)
    yield from norm("transformer.ln_f", hidden)


def _layer(name: str, hidden: int) -> Iterator[Gradient]:
    """Yield self-attention and a feed-forward layer of four times the width: 12 H^2 + 13 H parameters."""
    attention = 2 * 2.0 * TOKENS**2 * hidden  # scores and their sums, per sample; there is no tensor of their own
    yield from norm(f"{name}.ln_1", hidden)
    yield from _linear(f"{name}.attn.c_attn", hidden, 3 * hidden, attention)
    yield from _linear(f"{name}.attn.c_proj", hidden, hidden)
    yield from norm(f"{name}.ln_2", hidden)
    yield from _linear(f"{name}.mlp.c_fc", hidden, 4 * hidden)
    yield from _linear(f"{name}.mlp.c_proj", 4 * hidden, hidden)


def _linear(name: str, inner: int, out: int, more: float = 0.0) -> Iterator[Gradient]:
    """Yield weights, input by output as in the original program."""
    yield Gradient(f"{name}.weight", (inner, out), 2.0 * inner * out * TOKENS + more)
    yield Gradient(f"{name}.bias", (out,))
