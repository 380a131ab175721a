"""Fine-tuning a text classifier, as the paper's two text models were made: RoBERTa, three epochs of four fifths of the
training samples. The other fifth calibrates.

The paper says no more; the rest is what RoBERTa's authors fine-tuned with: AdamW at 2e-5 in batches of 32, a linear
warm-up over 6 % of the steps and then a linear decay, weight decay 0.1. Needs the `transformers` extra.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from proxcal._extras import require
from proxcal._files import atomic_write
from proxcal._validation import check_integer, check_number
from proxcal.bundle import split_rows
from proxcal.datasets import Samples, write_table
from proxcal.integrations.extraction.options import told_apart
from proxcal.integrations.extraction.shards import check_same
from proxcal.integrations.extraction.transformers_models import TextInputs, from_folder, text_inputs, without_bars

WEIGHT_DECAY, WARM_UP = 0.1, 0.06
SETTINGS, HELD_OUT = "finetune.json", "held_out.csv"
_SAVE_EVERY = 0.05  # of all steps
Progress = Callable[[int, int, str], None]


class FineTuned(NamedTuple):
    """`folder` is what `proxcal extract hf:FOLDER` takes; `held_out` are the samples that were not trained on, which
    lie there as held_out.csv too."""

    folder: Path
    held_out: Samples


def finetune(
    model: str | os.PathLike[str],
    samples: Samples,
    output: str | os.PathLike[str],
    *,
    held_out: float = 0.2,
    epochs: int = 3,
    batch_size: int = 32,
    learning_rate: float = 2e-5,
    max_length: int | None = None,
    random_state: int = 2020,
    amp: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FineTuned:
    """Fine-tune the model of a folder, such as roberta-base, on labelled texts or pairs of them, into the folder
    `output`.

    A random share `held_out` of the samples is kept from it. `max_length` cuts texts to so many tokens, where the model
    takes more; `amp` computes in bfloat16. A GPU is used where there is one. Stopped whenever, the same call goes on
    from the last twentieth of the steps. The global random generators are seeded.
    """
    output = Path(output)
    if samples.kind != "text" or samples.labels is None:
        labelled = "" if samples.labels is not None else " without labels"
        raise ValueError(f"samples are {samples.kind}s{labelled}; labelled texts are needed")
    settings = {
        "model": str(model),
        "samples": told_apart(samples),
        "held_out": held_out,
        "epochs": check_integer("epochs", epochs, at_least=1),
        "batch_size": check_integer("batch_size", batch_size, at_least=1),
        "learning_rate": check_number("learning_rate", learning_rate, above=0),
        "max_length": max_length,
        "random_state": random_state,
        "amp": amp,
    }
    if output.exists() and not (overwrite and output.is_dir()):
        raise ValueError(f"{output} exists; give another folder, or overwrite=True to replace it")
    rows, kept = split_rows(len(samples), 1 - check_number("held_out", held_out, above=0, at_most=1), random_state)
    left = samples.take(kept)
    with without_bars():
        network, tokens = _loaded(Path(model), samples, max_length, random_state)
        work = _begun(output, settings, overwrite)
        _train(network, tokens, samples.take(rows), work, settings, progress)
        _save(network, tokens.tokenizer, left, work, output)
    return FineTuned(output, left)


def _begun(output: Path, settings: dict[str, Any], overwrite: bool) -> Path:
    """The folder that an interrupted run with the same settings left, or a new one."""
    work = output.with_name(f"{output.name}.part")
    if overwrite and work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True, exist_ok=True)
    path = work / SETTINGS
    if path.exists():
        check_same(output, json.loads(path.read_text(encoding="utf-8")), settings)
        return work
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(settings, indent=1), encoding="utf-8")
    return work


def _loaded(folder: Path, samples: Samples, max_length: int | None, random_state: int) -> tuple[Any, TextInputs]:
    """The model with a new head for these classes, and what makes tokens of texts."""
    require("transformers", "transformers", "finetune").set_seed(random_state)
    names = samples.classes or tuple(str(i) for i in range(int(samples.labels.max()) + 1))  # type: ignore[union-attr]
    network = from_folder(
        "AutoModelForSequenceClassification",
        folder,
        id2label=dict(enumerate(names)),
        label2id={name: i for i, name in enumerate(names)},
    )
    tokens = text_inputs(folder)
    return network, tokens if max_length is None else TextInputs(tokens.tokenizer, min(max_length, tokens.longest))


def _train(
    network: Any, tokens: TextInputs, samples: Samples, work: Path, settings: dict[str, Any], progress: Progress | None
) -> None:
    transformers, torch = (require(name, "transformers", "finetune") for name in ("transformers", "torch"))
    n_steps = settings["epochs"] * -(-len(samples) // settings["batch_size"])
    arguments = transformers.TrainingArguments(
        output_dir=str(work),
        num_train_epochs=settings["epochs"],
        per_device_train_batch_size=settings["batch_size"],
        learning_rate=settings["learning_rate"],
        weight_decay=WEIGHT_DECAY,
        warmup_steps=round(WARM_UP * n_steps),
        seed=settings["random_state"],
        bf16=settings["amp"],
        save_steps=max(1, round(_SAVE_EVERY * n_steps)),
        save_total_limit=1,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
    trainer = transformers.Trainer(
        network, arguments, data_collator=_batch_of(tokens, torch), train_dataset=samples, callbacks=[_moving(progress)]
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=_checkpoint(work))


def _batch_of(tokens: TextInputs, torch: Any) -> Callable[[list[Any]], dict[str, Any]]:
    def batch(samples: list[Any]) -> dict[str, Any]:
        labels = torch.tensor([sample.label for sample in samples])
        return {**tokens([sample.content for sample in samples]), "labels": labels}

    return batch


def _moving(progress: Progress | None) -> Any:
    """What tells the trainer's steps."""

    class Moving(require("transformers", "transformers", "finetune").TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            if progress is not None:
                progress(state.global_step, state.max_steps, "steps")

    return Moving()


def _checkpoint(work: Path) -> str | None:
    """The last one that was finished: its state is written last."""
    states = work.glob("checkpoint-*/trainer_state.json")
    found = sorted((path.parent for path in states), key=lambda path: int(path.name.rpartition("-")[2]))
    return str(found[-1]) if found else None


def _save(network: Any, tokenizer: Any, left: Samples, work: Path, output: Path) -> None:
    made = work / "model"
    network.save_pretrained(made)
    tokenizer.save_pretrained(made)
    write_table(left, made / HELD_OUT, overwrite=True)
    shutil.copyfile(work / SETTINGS, made / SETTINGS)
    if output.exists():
        shutil.rmtree(output)
    os.replace(made, output)
    shutil.rmtree(work)
