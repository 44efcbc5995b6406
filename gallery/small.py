"""The small scripts of ``tests/outline/models``: each as it is, or with a fault planted into it."""

from __future__ import annotations

import model_scripts
from planted import OPEN, TWINS

from gallery.drawing import Shown, draw_all

TALL = ("script",)  # no module, so nothing to close: it is a little higher than a page
HEALTHY = {
    "gan": "A GAN step: three calls of D, two backwards, one detach that is meant",
    "resnet_frozen": "A ResNet whose layer3 is frozen, in train mode",
    "distillation": "A student and a teacher under no_grad",
    "vae": "A variational autoencoder",
    "rnn": "200 steps of a recurrent cell",
    "moe": "A mixture of experts, top-2",
    "mixtral_moe": "Three layers as Mixtral has them, each with a mixture of experts",
    "lora_checkpoint": "LoRA on a frozen base, with checkpointing",
    "encoder_decoder": "An encoder and a decoder",
    "actor_critic": "Actor and critic on one trunk, the critic detached",
    "training_loop": "Three epochs with an evaluation each: one of 21 iterations is drawn",
    "ppo": "Sixteen minibatches of a clipped policy gradient, the critic detached",
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
    "all_skips_detached-unet": "A U-Net with all four skips detached",
    "one_skip_of_four-unet": "A U-Net with .data on one skip of four",
    "router_under_no_grad-mixtral_moe": "A mixture of experts whose router runs under no_grad",
    "never_called-mixtral_moe": "A mixture of experts, one of them never chosen",
    "indices_without_weights-mixtral_moe": "A router of which only the indices are used",
}


SHOW = "GPT-2 with the detach before block 5, that nobody recorded: `gv.show(loss, model=model)`"


def shown() -> list[Shown]:
    """List the pictures: those with a fault first."""
    planted = {str(fault): fault.source for fault in (*OPEN, *TWINS)}
    faults = [Shown(name, title, planted[name]) for name, title in PLANTED.items()]
    models = [
        Shown(name, title, model_scripts.read(name), is_tall=name in TALL)
        for name, title in HEALTHY.items()
    ]
    show = Shown("show-gpt2", SHOW, planted["detach-gpt2"], is_recorded=False)
    return [*faults, show, *models]


def main() -> None:
    """Draw everything and write the table."""
    draw_all("Small models", shown())
