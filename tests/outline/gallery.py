"""Draws the small models of this folder: ``docs/gallery/`` and its table, ``docs/gallery.md``.

    make gallery

Each model is recorded for one step, as it is, or with a fault planted into it. Times are
processor time of one run on the machine at hand.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import model_scripts
import torch
from planted import OPEN

import gradviz as gv
from gradviz.picture import render

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "gallery"


class Shown(NamedTuple):
    """One picture: what it is of, and the script."""

    name: str
    title: str
    source: str


HEALTHY = {
    "gan": "A GAN step: three calls of D, two backwards, one detach that is meant",
    "resnet_frozen": "A ResNet whose layer3 is frozen, in train mode",
    "distillation": "A student and a teacher under no_grad",
    "vae": "A variational autoencoder",
    "rnn": "200 steps of a recurrent cell",
    "moe": "A mixture of experts, top-2",
    "lora_checkpoint": "LoRA on a frozen base, with checkpointing",
    "encoder_decoder": "An encoder and a decoder",
    "actor_critic": "Actor and critic on one trunk, the critic detached",
    "contrastive": "Two towers and a contrastive loss",
    "multi_task": "Heads side by side",
    "lightning_step": "A training step as Lightning runs it",
    "gpt_96": "A GPT of 96 blocks",
    "script": "A long script without modules",
}
PLANTED = {
    "detach-gpt2": "GPT-2 of 12 blocks with a detach before block 5",
    "data-gpt2": "GPT-2 with .data inside of block 7",
    "detach-unet": "A U-Net with one skip detached",
    "no_grad-unet": "A U-Net whose encoder runs under no_grad",
    "integer_cast-encoder_decoder": "A cast to int before the head",
    "zero_or_vanishing-gpt2": "Attention multiplied by zero in block 8",
}


def shown() -> list[Shown]:
    """List the pictures: those with a fault first."""
    planted = {str(fault): fault.source for fault in OPEN}
    faults = [Shown(name, title, planted[name]) for name, title in PLANTED.items()]
    models = [Shown(n, title, model_scripts.read(n)) for n, title in HEALTHY.items()]
    return [*faults, *models]


def draw(picture: Shown) -> str:
    """Record one step and write its picture; return its row of the table."""
    recording = gv.record()
    model_scripts.run(picture.source, f"{picture.name}.py", lambda: recording)
    start = time.process_time()
    figure = gv.Figure(recording.graph)
    svg = figure.svg
    spent = round((time.process_time() - start) * 1000)
    (FOLDER / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
    width, height = render.size(svg)
    cards, calls = len(figure.scene.cards), len(recording.graph.calls)
    link = f"[{picture.title}](gallery/{picture.name}.svg)"
    return f"| {link} | {calls} | {cards} | {width}×{height} | {spent} |"


def main() -> None:
    """Draw everything and write the table."""
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    rows = [draw(picture) for picture in shown()]
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    before = page.partition("| Picture |")[0]
    head = "| Picture | recorded calls | cards | CSS pixels | drawn in ms |\n| --- | ---: | ---: | ---: | ---: |\n"
    (ROOT / "docs" / "gallery.md").write_text(before + head + "\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
