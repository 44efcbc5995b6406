"""A third set of faults that are looked at once: twelve that a practitioner makes outside of the
usual ones, such as a group that no optimizer has, a buffer where a parameter was meant, a gradient
that is erased before the step.

Each was proven by torch alone (``test_planted_truth``) and kept before any was drawn; how the
pictures told them, at the first look, stands in ``planted_blind3_result.txt``.
"""

from __future__ import annotations

from model_scripts import Counts, Planted

BLIND3 = [
    Planted(
        kind="group_missing",
        script="vae",
        changes=(
            (
                "opt = torch.optim.Adam(model.parameters())",
                'opt = torch.optim.Adam([{"params": model.enc.parameters()}, {"params": model.dec.parameters(), "lr": 1e-4}])',
            ),
        ),
        modules=("mu", "lv"),
        line=25,
        at="model.enc.parameters()",
        words=("no optimizer",),
        counts=Counts(some=10, unowned=4),
        line_can_be_seen=False,
    ),
    Planted(
        kind="buffer_for_parameter",
        script="contrastive",
        changes=(
            (
                "self.scale = nn.Parameter(torch.tensor(1.0))",
                'self.register_buffer("scale", torch.tensor(1.0))',
            ),
        ),
        modules=(),
        line=17,
        at="register_buffer",
        words=("buffer",),
        counts=Counts(some=9),
        cards=("scale",),
        line_can_be_seen=False,
    ),
    Planted(
        kind="tying_broken",
        script="gpt2",
        changes=(
            (
                "self.lm_head.weight = self.transformer.wte.weight",
                "self.lm_head.weight.data = self.transformer.wte.weight.data",
            ),
        ),
        modules=("lm_head", "transformer.wte"),
        line=73,
        at="self.lm_head.weight.data",
        words=("memory", "storage", "not tied"),
        counts=Counts(some=149),
        line_can_be_seen=False,
    ),
    Planted(
        kind="teacher_not_frozen",
        script="distillation",
        changes=(("with torch.no_grad():\n    t = teacher(x)\n", "t = teacher(x)\n"),),
        modules=("teacher",),
        line=49,
        at="t = teacher(x)",
        words=("no optimizer",),
        counts=Counts(some=59, unowned=53),
        line_can_be_seen=False,
    ),
    Planted(
        kind="reentrant_checkpoint",
        script="unet",
        changes=(
            (
                "from torch.nn import functional as F\n",
                "from torch.nn import functional as F\nfrom torch.utils.checkpoint import checkpoint\n",
            ),
            ("d1 = self.down1(x)", "d1 = checkpoint(self.down1, x, use_reentrant=True)"),
        ),
        modules=("down1",),
        line=42,
        at="checkpoint(self.down1",
        words=("checkpoint", "no_grad"),
        counts=Counts(some=50, none=6),
    ),
    Planted(
        kind="requires_grad_false",
        script="encoder_decoder",
        changes=(
            (
                "model = Seq2Seq()\n",
                "model = Seq2Seq()\nmodel.dec[2].cross.requires_grad_(False)\n",
            ),
        ),
        modules=("dec.2.cross",),
        line=53,
        at="cross.requires_grad_(False)",
        words=("frozen", "requires_grad"),
        counts=Counts(some=64, frozen=4),
        line_can_be_seen=False,
    ),
    Planted(
        kind="all_padding",
        script="gpt_96",
        changes=(
            ("nn.Embedding(8, d)", "nn.Embedding(8, d, padding_idx=0)"),
            ("self.pos(torch.arange(n))", "self.pos(torch.zeros(n, dtype=torch.long))"),
        ),
        modules=("pos",),
        line=35,
        at="self.pos(torch.zeros(",
        words=("zero",),
        counts=Counts(some=1156, zero=1),
    ),
    Planted(
        kind="detached_logits",
        script="actor_critic",
        changes=(("-(adv * logp).mean()", "-(adv * logp.detach()).mean()"),),
        modules=("pi",),
        line=29,
        at="logp.detach()",
        words=("detach",),
        counts=Counts(some=10),
        cards=("policy_loss", "logp"),
    ),
    Planted(
        kind="wrong_tensor",
        script="mixtral_moe",
        changes=(
            (
                "        x = x + self.attn(self.norm1(x))\n",
                "        h = x + self.attn(self.norm1(x))\n",
            ),
        ),
        modules=tuple(f"layers.{k}{end}" for k in range(3) for end in ("", ".attn", ".norm1")),
        line=66,
        at="h = x + self.attn",
        words=("does not use",),
        counts=Counts(some=45, none=9),
        line_can_be_seen=False,
    ),
    Planted(
        kind="hard_gate",
        script="moe",
        changes=(
            (
                "p, which = self.gate(x).softmax(-1).topk(2)",
                "which = self.gate(x).argmax(-1, keepdim=True)",
            ),
            ("p[rows, slot, None] * expert(x[rows])", "expert(x[rows])"),
        ),
        modules=("moe", "moe.gate"),
        line=18,
        at="argmax(-1, keepdim=True)",
        words=("non-differentiable", "integer"),
        counts=Counts(some=22, none=10),
    ),
    Planted(
        kind="erased_before_the_step",
        script="lightning_step",
        changes=(
            (
                "            loss.backward()\n",
                "            loss.backward()\n            optimizer.zero_grad(set_to_none=True)\n",
            ),
        ),
        modules=("backbone", "classifier", "backbone.conv1", "backbone.conv2", "backbone.norm"),
        line=56,
        at="zero_grad(set_to_none=True)",
        words=("zero_grad", "erased"),
        counts=Counts(none=8),
    ),
    Planted(
        kind="nan",
        script="contrastive",
        changes=(
            (
                "        return self.scale.exp() * a @ b.T\n",
                "        apart = (a[:, None] - a[None]).pow(2).sum(-1).sqrt().mean()\n        return self.scale.exp() * a @ b.T - 0.1 * apart\n",
            ),
        ),
        modules=("image", "proj"),
        line=22,
        at=".sqrt().mean()",
        words=("nan",),
        counts=Counts(some=4, nan=6),
        cards=("apart", "sqrt"),
    ),
]
