from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from PIL import Image  # noqa: E402

from proxcal import Predictions, ProxcalWarning  # noqa: E402
from proxcal.datasets import open_samples  # noqa: E402
from proxcal.integrations.extraction import Options, extract_each, extract_to_file  # noqa: E402

QUICK = {"workers": 0, "batch_size": 4, "features": "float32"}
NAMES = {0: "POS", 1: "NEG", 2: "NEUTRAL"}
SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


def saved(folder, model, preprocessor):
    model.save_pretrained(folder)
    preprocessor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tokenizer(tokenizer_file):
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file), model_max_length=16, **special)


@pytest.fixture(scope="session")
def roberta(tokenizer, tmp_path_factory):
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        vocab_size=8, id2label=NAMES, pad_token_id=0, max_position_embeddings=20, **SMALL
    )
    return saved(tmp_path_factory.mktemp("roberta"), transformers.RobertaForSequenceClassification(config), tokenizer)


@pytest.fixture(scope="session")
def vit(tmp_path_factory):
    torch.manual_seed(0)
    config = transformers.ViTConfig(image_size=16, patch_size=8, id2label={0: "a", 1: "b", 2: "c"}, **SMALL)
    processor = transformers.ViTImageProcessor(size={"height": 16, "width": 16})
    return saved(tmp_path_factory.mktemp("vit"), transformers.ViTForImageClassification(config), processor)


def run(spec, data, output, **options):
    extract_to_file(spec, open_samples(data), output, Options(**(QUICK | options)))
    return Predictions.load(output)


def one_by_one(folder, tokenizer, texts):
    """Each text by itself, without padding: logits, and what the last linear layer got."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    rows = []
    with torch.no_grad():
        for text in texts:
            tokens = tokenizer(*([text] if isinstance(text, str) else text), return_tensors="pt")
            tokens.pop("token_type_ids", None)
            rows.append((model(**tokens).logits[0], features_of(model, tokens)))
    return [torch.stack(column).numpy() for column in zip(*rows, strict=True)]


def features_of(model, tokens):
    hidden = model.base_model(**tokens).last_hidden_state
    if model.config.model_type == "gpt2":
        return hidden[0, -1]
    return torch.tanh(model.classifier.dense(hidden[0, 0]))


def test_texts_give_the_logits_and_features_that_each_has_by_itself(roberta, tokenizer, texts, tmp_path):
    held = run(f"hf:{roberta}", texts, tmp_path / "out.npz")
    logits, features = one_by_one(roberta, tokenizer, open_samples(texts).contents)
    np.testing.assert_allclose(held.logits, logits, atol=1e-5)
    np.testing.assert_allclose(held.features, features, atol=1e-5)


def test_labels_are_matched_with_the_models_by_name_whatever_the_case(roberta, texts, tmp_path):
    assert run(f"hf:{roberta}", texts, tmp_path / "out.npz").labels.tolist() == [0, 1, 2] * 3


def test_pairs_of_texts_go_together(roberta, tokenizer, tmp_path):
    (tmp_path / "pairs.csv").write_text("text,text_pair,label\ngood,bad,0\nso so,good,1\n")
    held = run(f"hf:{roberta}", tmp_path / "pairs.csv", tmp_path / "out.npz")
    logits, _ = one_by_one(roberta, tokenizer, [("good", "bad"), ("so so", "good")])
    np.testing.assert_allclose(held.logits, logits, atol=1e-5)


def test_texts_longer_than_the_model_are_cut(roberta, tmp_path):
    (tmp_path / "long.csv").write_text("text,label\n" + "very " * 50 + ",0\nso,1\n")
    assert len(run(f"hf:{roberta}", tmp_path / "long.csv", tmp_path / "out.npz")) == 2


def test_a_generative_models_features_are_those_of_the_last_token(tokenizer, texts, tmp_path):
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=8, n_embd=8, n_layer=1, n_head=2, n_positions=20, pad_token_id=0, id2label=NAMES
    )
    folder = saved(tmp_path / "gpt2", transformers.GPT2ForSequenceClassification(config), tokenizer)
    held = run(f"hf:{folder}", texts, tmp_path / "out.npz")
    logits, features = one_by_one(folder, tokenizer, open_samples(texts).contents)
    np.testing.assert_allclose(held.logits, logits, atol=1e-5)
    np.testing.assert_allclose(held.features, features, atol=1e-5)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_images_are_prepared_by_the_models_own_processor(vit, images, tmp_path):
    held = run(f"hf:{vit}", images, tmp_path / "out.npz")
    model = transformers.ViTForImageClassification.from_pretrained(vit).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(vit)
    photos = [Image.open(path).convert("RGB") for path in sorted(images.rglob("*.png"))]
    with torch.no_grad():
        inputs = processor(images=photos, return_tensors="pt")
        features = model.vit(**inputs).last_hidden_state[:, 0]
        logits = model(**inputs).logits
    np.testing.assert_allclose(held.logits, logits.numpy(), atol=1e-5)
    np.testing.assert_allclose(held.features, features.numpy(), atol=1e-5)


def test_classes_called_otherwise_than_the_models_are_told(vit, images, tmp_path):
    with pytest.warns(ProxcalWarning, match=r"the data's classes \(cat, …\) are not called as the model's \(a, …\)"):
        run(f"hf:{vit}", images, tmp_path / "out.npz")


def test_a_glob_is_all_folders_with_a_model(roberta, texts, tmp_path):
    spec = f"hf:{roberta.parent}/rob*{roberta.name[-1]}"
    (found,) = extract_each([spec], open_samples(texts), tmp_path / "zoo", Options(**QUICK))
    assert Path(found.output) == tmp_path / "zoo" / f"{roberta.name}.npz"


def test_a_model_of_texts_is_not_run_over_images(roberta, images, tmp_path):
    with pytest.raises(ValueError, match="is a model of texts; the data are images"):
        run(f"hf:{roberta}", images, tmp_path / "out.npz")


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        (None, {}, "needs a folder with a config.json, and nothing is downloaded: hf download MODEL --local-dir"),
        (
            '{"model_type": "bert", "architectures": ["BertModel"]}',
            {},
            "holds BertModel; it needs a model for sequence",
        ),
        ('{"model_type": "absent"}', {}, "cannot be read by AutoConfig"),
        (
            '{"model_type": "bert", "architectures": ["BertForSequenceClassification"]}',
            {},
            "cannot be read by AutoModelForSequenceClassification",
        ),
        ("{}", {"weights": Path("w.pth")}, "has its weights in its folder; leave out --weights"),
    ],
)
def test_a_folder_that_is_no_classifier_is_told_in_one_line(texts, tmp_path, config, options, message):
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    with pytest.raises(ValueError, match=message) as told:
        run(f"hf:{tmp_path}", texts, tmp_path / "out.npz", **options)
    assert "\n" not in str(told.value)
