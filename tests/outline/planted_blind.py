"""The faults that are looked at once, when the outline is done.

Whoever works on the outline does not read this file, and does not look at its pictures before the
end. It holds a third of the 48, chosen by a seeded sample.
"""

from __future__ import annotations

from model_scripts import Counts, Planted

BLIND = [
    Planted(
        kind="data",
        script="unet",
        changes=(
            (
                "twice(u3)",
                "twice(u3.data)",
            ),
        ),
        modules=("up3", "up2"),
        line=50,
        at="u3.data",
        words=(".data",),
        counts=Counts(some=26, none=30),
    ),
    Planted(
        kind="data",
        script="multi_task",
        changes=(
            (
                "f = self.body(s)",
                "f = self.body(s.data)",
            ),
        ),
        modules=("stem", "body"),
        line=19,
        at="s.data",
        words=(".data",),
        counts=Counts(some=12, none=2),
    ),
    Planted(
        kind="no_grad",
        script="gpt2",
        changes=(
            (
                "        for block in self.h:\n            x = block(x)\n",
                "        with torch.no_grad():\n            for block in self.h[:6]:\n                x = block(x)\n        for block in self.h[6:]:\n            x = block(x)\n",
            ),
        ),
        modules=(
            "transformer.h.0",
            "transformer.h.1",
            "transformer.h.2",
            "transformer.h.3",
            "transformer.h.4",
            "transformer.h.5",
        ),
        line=63,
        at="with torch.no_grad()",
        words=("no_grad",),
        counts=Counts(some=75, none=73),
        near=(64,),
    ),
    Planted(
        kind="requires_grad_false",
        script="unet",
        changes=(
            (
                "        m = self.mid(F.max_pool2d(d4, 2))\n",
                "        self.mid.requires_grad_(False)\n        m = self.mid(F.max_pool2d(d4, 2))\n",
            ),
        ),
        modules=("mid",),
        line=56,
        at="requires_grad_(False)",
        words=("frozen", "requires_grad"),
        counts=Counts(some=50, frozen=6),
    ),
    Planted(
        kind="requires_grad_false",
        script="encoder_decoder",
        changes=(
            (
                "model = Seq2Seq()\n",
                "model = Seq2Seq()\nfor p in model.enc.parameters():\n    p.requires_grad = False\n",
            ),
        ),
        modules=("enc", "enc.0", "enc.1", "enc.2", "enc.3"),
        line=54,
        at="p.requires_grad = False",
        words=("frozen", "requires_grad"),
        counts=Counts(some=44, frozen=24),
        line_can_be_seen=False,
    ),
    Planted(
        kind="requires_grad_false",
        script="multi_task",
        changes=(
            (
                "opt.zero_grad()\n",
                "opt.zero_grad()\nfor p in model.body.parameters():\n    p.requires_grad = False\n",
            ),
        ),
        modules=("body", "body.0"),
        line=33,
        at="p.requires_grad = False",
        words=("frozen", "requires_grad"),
        counts=Counts(some=12, frozen=2),
    ),
    Planted(
        kind="never_called",
        script="encoder_decoder",
        changes=(
            (
                "        for layer in self.dec:\n            x = layer(x, mem)\n",
                "        for i, layer in enumerate(self.dec):\n            if i == 2:\n                continue\n            x = layer(x, mem)\n",
            ),
        ),
        modules=("dec.2",),
        line=49,
        at="continue",
        words=("never called",),
        counts=Counts(some=58, none=10),
        near=(48,),
        line_can_be_seen=False,
    ),
    Planted(
        kind="not_differentiable",
        script="unet",
        changes=(
            (
                "return self.out(u1)",
                "return self.out((u1 > 0).float())",
            ),
        ),
        modules=("up1", "out"),
        line=52,
        at="(u1 > 0)",
        words=("u1 > 0", "comparison", "bool", "non-differentiable"),
        counts=Counts(some=2, none=54),
    ),
    Planted(
        kind="not_differentiable",
        script="encoder_decoder",
        changes=(
            (
                "        for layer in self.dec:\n            x = layer(x, mem)\n",
                "        for i, layer in enumerate(self.dec):\n            x = layer(x, mem)\n            if i == 1:\n                x = self.tgt(self.head(x).argmax(-1))\n",
            ),
        ),
        modules=("dec.1", "dec.2", "head", "tgt"),
        line=50,
        at="argmax(-1)",
        words=("argmax", "non-differentiable"),
        counts=Counts(some=48, none=20),
    ),
    Planted(
        kind="wrong_tensor",
        script="gpt2",
        changes=(
            (
                "x = block(x)",
                "y = block(x)",
            ),
            (
                "self.ln_f(x)",
                "self.ln_f(y)",
            ),
        ),
        modules=(
            "transformer.h.0",
            "transformer.h.1",
            "transformer.h.2",
            "transformer.h.3",
            "transformer.h.4",
            "transformer.h.5",
            "transformer.h.6",
            "transformer.h.7",
            "transformer.h.8",
            "transformer.h.9",
            "transformer.h.10",
        ),
        line=64,
        at="y = block(x)",
        words=("does not use",),
        counts=Counts(some=16, none=132),
        line_can_be_seen=False,
    ),
    Planted(
        kind="wrong_tensor",
        script="encoder_decoder",
        changes=(
            (
                "x = layer(x, mem)",
                "x = layer(x, self.src(s))",
            ),
        ),
        modules=("enc.3", "enc.0", "enc.1", "enc.2"),
        line=48,
        at="self.src(s))",
        words=("does not use",),
        counts=Counts(some=44, none=24),
        line_can_be_seen=False,
    ),
    Planted(
        kind="not_in_optimizer",
        script="unet",
        changes=(
            (
                "Adam(model.parameters())",
                "Adam(model.out.parameters())",
            ),
        ),
        modules=("down1", "down2", "down3", "down4", "mid", "up4", "up3", "up2", "up1"),
        line=61,
        at="model.out.parameters()",
        words=("no optimizer",),
        counts=Counts(some=56, unowned=54),
        line_can_be_seen=False,
    ),
    Planted(
        kind="not_in_optimizer",
        script="encoder_decoder",
        changes=(
            (
                "self.dec = nn.ModuleList(Dec(d) for _ in range(4))",
                "self.dec = [Dec(d) for _ in range(4)]",
            ),
        ),
        modules=("dec.0", "dec.1", "dec.2", "dec.3"),
        line=39,
        at="self.dec = [Dec(d)",
        words=("no optimizer",),
        counts=Counts(some=68, unowned=40, unlisted=40),
        line_can_be_seen=False,
    ),
    Planted(
        kind="in_place_under_no_grad",
        script="unet",
        changes=(
            (
                "        u2 = self.up2(torch.cat([twice(u3), d2], 1))\n",
                "        wide = twice(u3)\n        room = torch.empty(len(wide), 32, 16, 16)\n        with torch.no_grad():\n            room[:, :16].copy_(wide)\n            room[:, 16:].copy_(d2)\n        u2 = self.up2(room)\n",
            ),
        ),
        modules=("up3", "up2", "down2"),
        line=53,
        at="copy_(wide)",
        words=("in-place", "in place"),
        counts=Counts(some=20, none=36),
        near=(52, 54),
    ),
    Planted(
        kind="in_place_under_no_grad",
        script="multi_task",
        changes=(
            (
                "        f = self.body(s)\n",
                "        clean = torch.zeros_like(s)\n        with torch.no_grad():\n            clean.copy_(s)\n        f = self.body(clean)\n",
            ),
        ),
        modules=("stem", "body"),
        line=21,
        at="clean.copy_(s)",
        words=("in-place", "in place"),
        counts=Counts(some=12, none=2),
        near=(20,),
    ),
    Planted(
        kind="zero_or_vanishing",
        script="gan",
        changes=(
            (
                "lossG = bce(D(fake), ones)",
                "lossG = bce(0.0 * D(fake), ones)",
            ),
        ),
        modules=("G",),
        line=24,
        at="0.0 * D(fake)",
        words=("zero",),
        counts=Counts(some=6, zero=6),
        cards=("lossG",),
    ),
]
