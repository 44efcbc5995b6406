"""Models as their libraries build them: the programs of ``gallery/models``, each as it is, and some
with a fault.

Every model is made from a config, with random weights, so nothing is loaded from anywhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import torch

from gallery.drawing import Shown, draw_all

MODELS = Path(__file__).parent / "models"


class Fault(NamedTuple):
    """A change of one program: pairs of old and new text, each old one once in the program."""

    name: str
    title: str
    program: str
    changes: tuple[tuple[str, str], ...]

    @property
    def source(self) -> str:
        """The text of the program with the fault in it."""
        text = read(self.program)
        for old, new in self.changes:
            assert text.count(old) == 1, (self.name, old)
            text = text.replace(old, new)
        return text


HEALTHY = {
    "gpt2": "transformers' GPT-2 of 12 blocks",
    "resnet18": "torchvision's ResNet-18",
    "unet": "A denoising step of diffusers' U-Net",
    "mixtral": "transformers' Mixtral: a mixture of experts, with the routers' own loss",
    "lora": "LoRA through peft: a frozen Llama, checkpointed, in its first step",
    "lightning_step": "A batch through Lightning's Trainer",
    "t5": "transformers' T5: an encoder and a decoder",
}
FAULTS = [
    Fault(
        "hook",
        "GPT-2 whose block 5 has a hook that detaches what comes in",
        "gpt2",
        (
            (
                "opt = ",
                "\n\ndef stop_gradient(block, given):\n"
                "    hidden, *others = given\n"
                "    return hidden.detach(), *others\n\n\n"
                "model.transformer.h[5].register_forward_pre_hook(stop_gradient)\nopt = ",
            ),
        ),
    ),
    Fault(
        "frozen",
        "A frozen ResNet-18 with a new last layer, left in train mode",
        "resnet18",
        (("model.fc = ", "model.requires_grad_(False)\nmodel.fc = "),),
    ),
    Fault(
        "inference",
        "LoRA whose adapters were loaded for inference: nothing is trained, and nothing raises",
        "lora",
        (
            ('task_type="CAUSAL_LM"', 'task_type="CAUSAL_LM", inference_mode=True'),
            ("(p for p in model.parameters() if p.requires_grad)", "model.parameters()"),
        ),
    ),
    Fault(
        "detach",
        "Lightning: features detached before the norm",
        "lightning_step",
        (("self.backbone(x).mean", "self.backbone(x).detach().mean"),),
    ),
    Fault(
        "no_grad",
        "T5 whose encoder runs under no_grad",
        "t5",
        (
            (
                "output = model(input_ids=source, labels=target)\n",
                "with torch.no_grad():\n"
                "    encoded = model.encoder(input_ids=source)\n"
                "output = model(encoder_outputs=encoded, labels=target)\n",
            ),
        ),
    ),
]


def read(name: str) -> str:
    """Return the text of a program."""
    return (MODELS / f"{name}.py").read_text(encoding="utf-8")


def shown() -> list[Shown]:
    """List the pictures: each program, followed by those with a fault in it."""
    found = []
    for name, title in HEALTHY.items():
        found.append(Shown(f"real-{name}", title, read(name)))
        faults = (fault for fault in FAULTS if fault.program == name)
        found += [Shown(f"real-{fault.name}-{name}", fault.title, fault.source) for fault in faults]
    return found


def name_missing_operators() -> torch.library.Library | None:
    """Let torchvision be imported beside the CPU build of torch.

    Its wheel on PyPI is built for CUDA, and its compiled operators do not load there. No model here
    uses one, but the import insists on two of them being known.

    Returns:
        What names them as long as it lives, or None where torchvision has loaded them.
    """
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float threshold) -> Tensor")
        return library
    return None


def main() -> None:
    """Draw everything and write the table."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    library = name_missing_operators()
    draw_all("Real models", shown())
    del library
