"""Models known by name, derived from their architectures: a module for each family."""

from collections.abc import Callable

from ...units import unknown_word
from ..tensors import Model, ModelError
from . import bert, convolution, gpt2, llama

ARCHITECTURES: dict[str, Callable[..., Model]] = {
    "resnet50": convolution.resnet50,
    "vgg16": convolution.vgg16,
    "bert-base": bert.base,
    "bert-large": bert.large,
    "gpt2": gpt2.small,
    "gpt2-xl": gpt2.xl,
    "llama2-7b": llama.llama2_7b,
    "llama3-8b": llama.llama3_8b,
}


def known_model(name: str) -> Model:
    """Return the model of this name, ignoring hyphens, underscores, dots and case. Raises ModelError."""
    for known, build in ARCHITECTURES.items():
        if _plain(name) == _plain(known):
            return build()
    raise ModelError(unknown_word("model", name, ARCHITECTURES))


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
