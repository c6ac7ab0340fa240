"""Models by name."""

import pytest

from allreduce_bench.training.architectures import ARCHITECTURES, known_model
from allreduce_bench.training.tensors import ModelError
from allreduce_bench.units import unknown_word


@pytest.mark.parametrize(
    "written, name", [("ResNet-50", "resnet50"), ("bert_base", "bert-base"), ("GPT2.XL", "gpt2-xl")]
)
def test_a_name_may_be_written_in_several_ways(written, name):
    assert known_model(written).name == name


def test_every_model_bears_its_name():
    assert [known_model(name).name for name in ARCHITECTURES] == [*ARCHITECTURES]


def test_an_unknown_name_gets_the_list():
    with pytest.raises(ModelError, match=unknown_word("model", "alexnet", ("resnet50", "vgg16", "bert-base"))):
        known_model("alexnet")
