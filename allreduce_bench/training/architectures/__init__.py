"""Models known by name, derived from their architectures: a module for each family."""

from collections.abc import Callable

from ...units import unknown_word
from ..tensors import Model, ModelError
from . import bert, convolution, gpt2, llama

TRANSFORMERS: dict[str, Callable[..., Model]] = {
    "bert-base": bert.base,
    "bert-large": bert.large,
    "gpt2": gpt2.small,
    "gpt2-xl": gpt2.xl,
    "llama2-7b": llama.llama2_7b,
    "llama3-8b": llama.llama3_8b,
}
ARCHITECTURES: dict[str, Callable[..., Model]] = {
    "resnet50": convolution.resnet50,
    "vgg16": convolution.vgg16,
    **TRANSFORMERS,
}


def known_model(name: str, tokens: int | None = None) -> Model:
    """Return the model of this name, ignoring hyphens, underscores, dots and case. Raises ModelError.

    `tokens` per sequence; None: the model's own.
    """
    for known, build in ARCHITECTURES.items():
        if _plain(name) == _plain(known):
            if tokens is None:
                return build()
            if known not in TRANSFORMERS:
                raise ModelError(f"{build().title} is no transformer: it has no sequences; leave out --sequence")
            return build(tokens)
    raise ModelError(unknown_word("model", name, ARCHITECTURES))


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
