"""Llama, registered as `LlamaForCausalLM` of the library transformers does; the output layer has weights of its own.

Touvron et al., "Llama 2: open foundation and fine-tuned chat models", 2023; Grattafiori et al., "The Llama 3 herd of
models", 2024 (keys and values of fewer heads: grouped-query attention).
"""

from collections.abc import Iterator
from typing import NamedTuple

from ..tensors import Gradient, Model


class Sizes(NamedTuple):
    """The sizes of a Llama model."""

    words: int
    hidden: int
    layers: int
    keys: int  # the width of keys and of values
    inner: int  # of the feed-forward layer
    tokens: int  # of a sequence


def llama2_7b() -> Model:
    """Return the model: 6,738,415,616 parameters in 291 tensors."""
    return _llama("llama2-7b", "Llama-2-7B", Sizes(32000, 4096, 32, 4096, 11008, tokens=4096))


def llama3_8b() -> Model:
    """Return the model: 8,030,261,248 parameters in 291 tensors."""
    return _llama("llama3-8b", "Llama-3-8B", Sizes(128256, 4096, 32, 1024, 14336, tokens=8192))


def _llama(name: str, title: str, sizes: Sizes) -> Model:
    return Model(name, title, tuple(_tensors(sizes)))


def _tensors(sizes: Sizes) -> Iterator[Gradient]:
    yield Gradient("model.embed_tokens.weight", (sizes.words, sizes.hidden))
    for number in range(sizes.layers):
        yield from _layer(f"model.layers.{number}", sizes)
    yield Gradient("model.norm.weight", (sizes.hidden,))
    yield _linear("lm_head", sizes.hidden, sizes.words, sizes)


def _layer(name: str, sizes: Sizes) -> Iterator[Gradient]:
    """Yield a layer: 2 H^2 + 2 H K + 3 H F + 2 H parameters, K the width of keys, F of the feed-forward layer."""
    attention = 2 * 2.0 * sizes.tokens**2 * sizes.hidden  # scores and their sums; there is no tensor of their own
    widths = {"q": (sizes.hidden, sizes.hidden), "k": (sizes.hidden, sizes.keys)}
    widths |= {"v": (sizes.hidden, sizes.keys), "o": (sizes.hidden, sizes.hidden)}
    for part, (inner, out) in widths.items():
        yield _linear(f"{name}.self_attn.{part}_proj", inner, out, sizes, attention if part == "q" else 0.0)
    yield _linear(f"{name}.mlp.gate_proj", sizes.hidden, sizes.inner, sizes)
    yield _linear(f"{name}.mlp.up_proj", sizes.hidden, sizes.inner, sizes)
    yield _linear(f"{name}.mlp.down_proj", sizes.inner, sizes.hidden, sizes)
    yield Gradient(f"{name}.input_layernorm.weight", (sizes.hidden,))
    yield Gradient(f"{name}.post_attention_layernorm.weight", (sizes.hidden,))


def _linear(name: str, inner: int, out: int, sizes: Sizes, more: float = 0.0) -> Gradient:
    return Gradient(f"{name}.weight", (out, inner), 2.0 * inner * out * sizes.tokens + more)
