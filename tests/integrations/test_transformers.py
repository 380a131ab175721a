import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from proxcal import Predictions  # noqa: E402
from proxcal.datasets import Samples, multinli, open_samples  # noqa: E402
from proxcal.integrations.extraction import Options, extract_to_file  # noqa: E402
from proxcal.integrations.transformers import finetune  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "it", "rains", "snows", "not", "maybe"]
HYPOTHESES = {"entailment": "it rains", "neutral": "maybe it snows", "contradiction": "not it rains"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A RoBERTa of one small layer, without a head for classification, and a tokenizer of nine words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    folder = tmp_path_factory.mktemp("roberta")
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        vocab_size=len(WORDS), pad_token_id=0, max_position_embeddings=24, hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16, initializer_range=0.3,
    )  # fmt: skip
    transformers.RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """MultiNLI's own format, of which nine words tell what follows."""
    root = tmp_path_factory.mktemp("multinli")
    lines = [
        {"gold_label": label, "sentence1": "it rains", "sentence2": hypothesis, "pairID": f"{i}{label[0]}"}
        for i in range(20)
        for label, hypothesis in HYPOTHESES.items()
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    for part in ("train", "dev_matched"):
        (root / f"multinli_1.0_{part}.jsonl").write_text(text)
    return multinli(root, "train")


QUICK = {"epochs": 5, "batch_size": 6, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def tuned(folder, pairs, tmp_path_factory):
    told = []
    output = tmp_path_factory.mktemp("tuned") / "mnli"
    made = finetune(folder, pairs, output, **QUICK, progress=lambda *step: told.append(step))
    return made, told


def extracted(tuned, data, output):
    extract_to_file(f"hf:{tuned.folder}", open_samples(data), output, Options(workers=0))
    return Predictions.load(output)


def test_what_it_learned_holds_for_the_samples_held_out(tuned, tmp_path):
    held = extracted(tuned[0], tuned[0].folder / "held_out.csv", tmp_path / "out.npz")
    assert np.mean(held.logits.argmax(axis=1) == held.labels) == 1
    assert held.ids.tolist() == list(tuned[0].held_out.names)


def test_a_fifth_is_held_out_and_comes_back_from_its_file(tuned, pairs):
    held = tuned[0].held_out
    assert len(held) == len(pairs) // 5
    again = open_samples(tuned[0].folder / "held_out.csv").in_order_of(pairs.classes)
    assert list(again) == list(held)


def test_the_models_classes_are_called_as_the_datas(tuned):
    config = transformers.AutoConfig.from_pretrained(tuned[0].folder)
    assert config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}


def test_every_step_is_told(tuned):
    assert tuned[1] == [(step, 40, "steps") for step in range(1, 41)]


def test_the_settings_lie_beside_the_model_and_the_scraps_are_gone(tuned, folder):
    settings = json.loads((tuned[0].folder / "finetune.json").read_text())
    assert (settings["model"], settings["random_state"]) == (str(folder), 2020)
    assert [path.name for path in tuned[0].folder.parent.iterdir()] == ["mnli"]


class Killed(Exception):
    pass


def test_killed_it_goes_on_from_the_last_steps_and_learns_the_same(tuned, folder, pairs, tmp_path):
    def kill(done, total, text):
        if done == 9:
            raise Killed

    with pytest.raises(Killed):
        finetune(folder, pairs, tmp_path / "mnli", **QUICK, progress=kill)
    told = []
    made = finetune(folder, pairs, tmp_path / "mnli", **QUICK, progress=lambda done, *_: told.append(done))
    assert told[0] == 9
    ours, whole = (
        transformers.AutoModelForSequenceClassification.from_pretrained(one.folder).state_dict()
        for one in (made, tuned[0])
    )
    for name, weights in whole.items():
        torch.testing.assert_close(ours[name], weights, msg=name)


def test_other_settings_do_not_go_on(folder, pairs, tmp_path):
    def kill(*_):
        raise Killed

    with pytest.raises(Killed):
        finetune(folder, pairs, tmp_path / "mnli", **QUICK, progress=kill)
    with pytest.raises(ValueError, match="mnli was begun with random_state 2020, and now it is 2021: give another"):
        finetune(folder, pairs, tmp_path / "mnli", **QUICK, random_state=2021)


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (Samples("text", ["a"], ["1"]), {}, "samples are texts without labels; labelled texts are needed"),
        (Samples("image", ["a"], ["1"], np.array([0])), {}, "samples are images; labelled texts are needed"),
        (None, {"epochs": 0}, "epochs must be a whole number of at least 1; got 0"),
        (None, {"held_out": 0.001}, "leaves one part empty"),
        (None, {"output": "."}, "exists; give another folder, or overwrite=True"),
    ],
)
def test_what_cannot_be_is_told(folder, pairs, tmp_path, monkeypatch, samples, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        finetune(folder, samples or pairs, **({"output": "out"} | options))
    assert not list(tmp_path.iterdir())
