"""A second set of faults that are looked at once: one in each script but one, all kinds among them.

Nobody who worked on the outline had read this file, or looked at its pictures, when it was drawn for
the first time; how it fell stands in ``planted_blind2_result.txt``. Since then it is open. Each is written the way such a line comes about: a copied statement, a leftover of an earlier
stage, a thing done to save memory.
"""

from __future__ import annotations

from model_scripts import Counts, Planted

BLIND2 = [
    Planted(
        kind="detach",
        script="rnn",
        changes=(
            (
                "h = self.cell(x, h)",
                "h = self.cell(x, h.detach())",
            ),
        ),
        modules=("cell",),
        line=28,
        at="h.detach()",
        words=("detach",),
        counts=Counts(some=6),
    ),
    Planted(
        kind="data",
        script="forty_cards",
        changes=(
            (
                "keep2 = torch.sigmoid(f2) * c1\n",
                "keep2 = torch.sigmoid(f2) * c1.data\n",
            ),
        ),
        modules=(),
        line=33,
        at="c1.data",
        words=(".data",),
        counts=Counts(some=8),
        cards=("keep2", "c1"),
    ),
    Planted(
        kind="no_grad",
        script="vae",
        changes=(
            (
                "z = mu + torch.randn_like(mu) * (0.5 * lv).exp()",
                "z = torch.distributions.Normal(mu, (0.5 * lv).exp()).sample()",
            ),
        ),
        modules=("mu", "lv", "dec"),
        line=20,
        at=".sample()",
        words=("sample", "no_grad"),
        counts=Counts(some=10),
    ),
    Planted(
        kind="no_grad",
        script="lightning_step",
        changes=(
            (
                "        logits = self(x)\n",
                "        with torch.no_grad():\n            feats = self.backbone(x)\n        logits = self.classifier(feats)\n",
            ),
        ),
        modules=("backbone", "backbone.conv1", "backbone.conv2", "backbone.norm"),
        line=37,
        at="with torch.no_grad()",
        words=("no_grad",),
        counts=Counts(some=2, none=6),
        near=(38,),
    ),
    Planted(
        kind="requires_grad_false",
        script="gpt_96",
        changes=(
            (
                "model = GPT()\n",
                'model = GPT()\nfor name, p in model.named_parameters():\n    if name.startswith("h.1"):\n        p.requires_grad = False\n',
            ),
        ),
        modules=("h.1", *(f"h.{k}" for k in range(10, 20))),
        line=44,
        at="p.requires_grad = False",
        words=("frozen", "requires_grad"),
        counts=Counts(some=1025, frozen=132),
        near=(43,),
        line_can_be_seen=False,
    ),
    Planted(
        kind="never_called",
        script="encoder_decoder",
        changes=(
            (
                "x = x + self.cross(x, mem, mem, need_weights=False)[0]",
                "x = x + self.attn(x, mem, mem, need_weights=False)[0]",
            ),
        ),
        modules=("dec.0.cross", "dec.1.cross", "dec.2.cross", "dec.3.cross"),
        line=29,
        at="self.attn(x, mem, mem",
        words=("never called",),
        counts=Counts(some=52, none=16),
        line_can_be_seen=False,
    ),
    Planted(
        kind="copied_out",
        script="script",
        changes=(
            (
                "score = score / temp\n",
                "score = score / temp.item()\n",
            ),
        ),
        modules=(),
        line=39,
        at="temp.item()",
        words=("item()", "value copied out"),
        counts=Counts(some=10, none=1, unowned=11),
        cards=("score", "temp"),
    ),
    Planted(
        kind="copied_out",
        script="distillation",
        changes=(
            (
                "s = student(x)\n",
                "f = student[:6](x).detach().cpu().numpy()\ns = student[6](torch.from_numpy(f))\n",
            ),
        ),
        modules=("student.0", "student.2", "student.5", "student.6"),
        line=51,
        at=".detach().cpu().numpy()",
        words=("detach", "numpy"),
        counts=Counts(some=2, none=4 + 53, unowned=53),
        near=(52,),
    ),
    Planted(
        kind="not_differentiable",
        script="moe",
        changes=(
            (
                "p, which = self.gate(x).softmax(-1).topk(2)",
                "which = self.gate(x).softmax(-1).topk(2).indices",
            ),
            (
                "p[rows, slot, None] * expert(x[rows])",
                "expert(x[rows]) / 2",
            ),
        ),
        modules=("moe.gate",),
        line=18,
        at="topk(2).indices",
        words=("topk", "indices", "integer", "non-differentiable"),
        counts=Counts(some=30, none=2),
    ),
    Planted(
        kind="integer_cast",
        script="unet",
        changes=(
            (
                "        return d1, d2, d3, d4\n",
                "        d4 = (d4 * 255).to(torch.uint8)\n        return d1, d2, d3, d4\n",
            ),
            (
                "m = self.mid(F.max_pool2d(d4, 2))",
                "d4 = d4 / 255\n        m = self.mid(F.max_pool2d(d4, 2))",
            ),
        ),
        modules=("down4", "mid", "up4"),
        line=45,
        at="to(torch.uint8)",
        words=("uint8", "integer"),
        counts=Counts(some=50, none=6),
    ),
    Planted(
        kind="wrong_tensor",
        script="actor_critic",
        changes=(
            (
                "value_loss = F.mse_loss(value, ret)",
                "value_loss = adv.pow(2).mean()",
            ),
        ),
        modules=("v", "v.0", "v.2"),
        line=30,
        at="adv.pow(2)",
        words=("detach", "does not use"),
        counts=Counts(some=6, none=4),
        cards=("value_loss", "adv"),
        near=(27,),
        line_can_be_seen=False,
    ),
    Planted(
        kind="not_in_optimizer",
        script="gan",
        changes=(
            (
                "optG = torch.optim.Adam(G.parameters(), 2e-4)",
                "optG = torch.optim.Adam(D.parameters(), 2e-4)",
            ),
        ),
        modules=("G", "G.0", "G.2", "G.4"),
        line=11,
        at="torch.optim.Adam(D.parameters()",
        words=("no optimizer",),
        counts=Counts(some=12, unowned=6),
        line_can_be_seen=False,
    ),
    Planted(
        kind="in_place_under_no_grad",
        script="resnet_frozen",
        changes=(
            (
                "        out += identity\n",
                "        with torch.no_grad():\n            out += identity\n",
            ),
        ),
        modules=(
            "layer1.0",
            "layer1.1",
            "layer2.0",
            "layer2.1",
            "layer3.0",
            "layer3.1",
            "layer4.0",
            "layer4.1",
            "layer2.0.downsample",
            "layer4.0.downsample",
        ),
        line=29,
        at="out += identity",
        words=("in-place", "in place"),
        counts=Counts(some=41, none=6, frozen=15),
        near=(28,),
    ),
    Planted(
        kind="zero_or_vanishing",
        script="contrastive",
        changes=(
            (
                "return self.scale.exp() * a @ b.T",
                "return self.scale.exp().clamp(max=2.5) * a @ b.T",
            ),
        ),
        modules=(),
        line=22,
        at=".clamp(max=2.5)",
        words=("zero",),
        counts=Counts(some=9, zero=1),
        cards=("scale",),
    ),
    Planted(
        kind="zero_or_vanishing",
        script="lora_checkpoint",
        changes=(
            ("r=4, alpha=8", "r=16, alpha=8"),
            ('{"default": alpha / r}', '{"default": alpha // r}'),
        ),
        modules=tuple(
            f"base_model.layers.{k}.{name}{part}"
            for k in range(6)
            for name in ("q_proj", "v_proj")
            for part in ("", ".lora_A.default", ".lora_B.default")
        ),
        line=18,
        at="alpha // r",
        words=("zero",),
        counts=Counts(zero=24, frozen=63),
        near=(25,),
    ),
    Planted(
        kind="zero_or_vanishing",
        script="multi_task",
        changes=(
            (
                'l_depth = F.mse_loss(out["depth"][:, 0], t)',
                'l_depth = F.mse_loss(out["depth"].softmax(-1)[:, 0], t)',
            ),
        ),
        modules=("heads.depth",),
        line=36,
        at='out["depth"].softmax(-1)',
        words=("zero",),
        counts=Counts(some=12, zero=2),
        cards=("l_depth",),
    ),
]
