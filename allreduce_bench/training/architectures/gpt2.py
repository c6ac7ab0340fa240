"""GPT-2, registered as `GPT2LMHeadModel` of the library transformers does; the output layer shares the embedding.

Radford, Wu, Child, Luan, Amodei and Sutskever, "Language models are unsupervised multitask learners", 2019.
"""

from collections.abc import Iterator

from ..tensors import Gradient, Model, ModelError

WORDS, POSITIONS = 50257, 1024
TOKENS = 1024  # of a sequence


def small(tokens: int = TOKENS) -> Model:
    """Return the model: 124,439,808 parameters in 148 tensors."""
    return _gpt2(Model("gpt2", "GPT-2", tuple(_tensors(768, 12, tokens))), 768, tokens)


def xl(tokens: int = TOKENS) -> Model:
    """Return the model: 1,557,611,200 parameters in 580 tensors."""
    return _gpt2(Model("gpt2-xl", "GPT-2 XL", tuple(_tensors(1600, 48, tokens))), 1600, tokens)


def _gpt2(model: Model, hidden: int, tokens: int) -> Model:
    """Complete the model. Raises ModelError: there are fewer positions than tokens."""
    if tokens > POSITIONS:
        raise ModelError(f"{model.title} has {POSITIONS} positions; expected a sequence of at most as many tokens")
    head = 2.0 * WORDS * hidden * tokens  # of the shared weights, whose gradient waits for the embedding
    return model._replace(sample=f"sequences of {tokens} tokens", flops_without_gradient=head)


def _tensors(hidden: int, layers: int, tokens: int) -> Iterator[Gradient]:
    yield Gradient("transformer.wte.weight", (WORDS, hidden))
    yield Gradient("transformer.wpe.weight", (POSITIONS, hidden))
    for number in range(layers):
        yield from _layer(f"transformer.h.{number}", hidden, tokens)
    yield from _layer_norm("transformer.ln_f", hidden)


def _layer(name: str, hidden: int, tokens: int) -> Iterator[Gradient]:
    """Yield self-attention and a feed-forward layer of four times the width: 12 H^2 + 13 H parameters."""
    attention = 2 * 2.0 * tokens**2 * hidden  # scores and their sums, per sample; there is no tensor of their own
    yield from _layer_norm(f"{name}.ln_1", hidden)
    yield from _linear(f"{name}.attn.c_attn", hidden, 3 * hidden, tokens, attention)
    yield from _linear(f"{name}.attn.c_proj", hidden, hidden, tokens)
    yield from _layer_norm(f"{name}.ln_2", hidden)
    yield from _linear(f"{name}.mlp.c_fc", hidden, 4 * hidden, tokens)
    yield from _linear(f"{name}.mlp.c_proj", 4 * hidden, hidden, tokens)


def _linear(name: str, inner: int, out: int, tokens: int, more: float = 0.0) -> Iterator[Gradient]:
    """Yield weights, input by output as in the original program."""
    yield Gradient(f"{name}.weight", (inner, out), 2.0 * inner * out * tokens + more)
    yield Gradient(f"{name}.bias", (out,))


def _layer_norm(name: str, hidden: int) -> Iterator[Gradient]:
    yield Gradient(f"{name}.weight", (hidden,))
    yield Gradient(f"{name}.bias", (hidden,))
