"""Faults planted into the scripts of ``models``, to be found from a picture alone: the open ones.

Twelve kinds of faults, each in four scripts; a third of the 48 lies in ``planted_blind``, chosen by
a seeded sample before there was a picture of any (``test_planted_truth``). What each field says is
told in ``model_scripts.Planted``; that it is so is torch's word, in ``test_planted_truth``.
"""

from __future__ import annotations

from model_scripts import Counts, Planted

OPEN = [
    Planted(
        kind="detach",
        script="gpt2",
        changes=(
            (
                "        for block in self.h:\n            x = block(x)\n",
                "        for i, block in enumerate(self.h):\n            if i == 5:\n                x = x.detach()\n            x = block(x)\n",
            ),
        ),
        modules=("transformer.h.4", "transformer.h.5"),
        line=65,
        at="x = x.detach()",
        words=("detach",),
        counts=Counts(some=87, none=61),
    ),
    Planted(
        kind="detach",
        script="unet",
        changes=(
            (
                "[twice(u3), d2]",
                "[twice(u3), d2.detach()]",
            ),
        ),
        modules=("down2", "up2"),
        line=50,
        at="d2.detach()",
        words=("detach",),
        counts=Counts(some=56),
    ),
    Planted(
        kind="detach",
        script="encoder_decoder",
        changes=(
            (
                "x = layer(x, mem)",
                "x = layer(x, mem.detach())",
            ),
        ),
        modules=("enc.3", "dec.0", "dec.1", "dec.2", "dec.3"),
        line=48,
        at="mem.detach()",
        words=("detach",),
        counts=Counts(some=43, none=25),
    ),
    Planted(
        kind="detach",
        script="gan",
        changes=(
            (
                "lossG = bce(D(fake), ones)",
                "lossG = bce(D(fake.detach()), ones)",
            ),
        ),
        modules=("G",),
        line=24,
        at="lossG = bce(",
        words=("detach",),
        counts=Counts(some=6, none=6),
        cards=("lossG", "fake", "D(fake.detach())"),
    ),
    Planted(
        kind="data",
        script="gpt2",
        changes=(
            (
                "        x = x + a\n",
                "        if self.layer_idx == 7:\n            a = a.data\n        x = x + a\n",
            ),
        ),
        modules=("transformer.h.7", "transformer.h.7.attn"),
        line=48,
        at="a = a.data",
        words=(".data",),
        counts=Counts(some=142, none=6),
    ),
    Planted(
        kind="data",
        script="encoder_decoder",
        changes=(
            (
                "x = self.tgt(t)",
                "x = self.tgt(t).data",
            ),
        ),
        modules=("tgt", "dec.0"),
        line=46,
        at="self.tgt(t).data",
        words=(".data",),
        counts=Counts(some=67, none=1),
    ),
    Planted(
        kind="no_grad",
        script="unet",
        changes=(
            (
                "    def encode(",
                "    @torch.no_grad()\n    def encode(",
            ),
        ),
        modules=("down1", "down2", "down3", "down4"),
        line=40,
        at="@torch.no_grad()",
        words=("no_grad",),
        counts=Counts(some=32, none=24),
        near=(41, 42, 43, 44, 45),
    ),
    Planted(
        kind="no_grad",
        script="encoder_decoder",
        changes=(
            (
                "        for layer in self.enc:\n            mem = layer(mem)\n",
                "        with torch.no_grad():\n            for layer in self.enc:\n                mem = layer(mem)\n",
            ),
        ),
        modules=("enc.0", "enc.1", "enc.2", "enc.3"),
        line=44,
        at="with torch.no_grad()",
        words=("no_grad",),
        counts=Counts(some=43, none=25),
        near=(46,),
    ),
    Planted(
        kind="no_grad",
        script="gan",
        changes=(
            (
                "fake = G(z)\n",
                "with torch.no_grad():\n    fake = G(z)\n",
            ),
        ),
        modules=("G",),
        line=16,
        at="with torch.no_grad()",
        words=("no_grad",),
        counts=Counts(some=6, none=6),
        cards=("fake", "fake = G(z)"),
        near=(17,),
    ),
    Planted(
        kind="requires_grad_false",
        script="gpt2",
        changes=(
            (
                "opt.zero_grad()\n",
                "opt.zero_grad()\nmodel.transformer.h[3].mlp.requires_grad_(False)\n",
            ),
        ),
        modules=("transformer.h.3.mlp", "transformer.h.3"),
        line=88,
        at="requires_grad_(False)",
        words=("frozen", "requires_grad"),
        counts=Counts(some=144, frozen=4),
    ),
    Planted(
        kind="never_called",
        script="gpt2",
        changes=(
            (
                "for block in self.h:",
                "for block in self.h[:-1]:",
            ),
        ),
        modules=("transformer.h.11",),
        line=63,
        at="self.h[:-1]",
        words=("never called",),
        counts=Counts(some=136, none=12),
        line_can_be_seen=False,
    ),
    Planted(
        kind="never_called",
        script="unet",
        changes=(
            (
                "        m = self.mid(F.max_pool2d(d4, 2))\n",
                "        m = F.max_pool2d(d4, 2)\n",
            ),
        ),
        modules=("mid",),
        line=56,
        at="m = F.max_pool2d(d4, 2)",
        words=("never called",),
        counts=Counts(some=50, none=6),
        line_can_be_seen=False,
    ),
    Planted(
        kind="never_called",
        script="multi_task",
        changes=(
            (
                "            out[name] = head(f)\n",
                '            if name == "gaze":\n                out[name] = out["pose"][:, :2]\n                continue\n            out[name] = head(f)\n',
            ),
        ),
        modules=("heads.gaze",),
        line=23,
        at='out["pose"][:, :2]',
        words=("never called",),
        counts=Counts(some=12, none=2),
        line_can_be_seen=False,
    ),
    Planted(
        kind="copied_out",
        script="gpt2",
        changes=(
            (
                "loss.backward()\n",
                "loss = torch.tensor(loss.item(), requires_grad=True)\nloss.backward()\n",
            ),
        ),
        modules=(),
        line=90,
        at="loss.item()",
        words=("item()", "value copied out"),
        counts=Counts(none=148),
        cards=("loss",),
    ),
    Planted(
        kind="copied_out",
        script="unet",
        changes=(
            (
                "        m = self.mid(F.max_pool2d(d4, 2))\n",
                "        m = self.mid(F.max_pool2d(d4, 2))\n        m = torch.from_numpy(m.detach().numpy())\n",
            ),
        ),
        modules=("mid", "up4"),
        line=57,
        at="from_numpy",
        words=("detach", "numpy"),
        counts=Counts(some=50, none=6),
    ),
    Planted(
        kind="copied_out",
        script="encoder_decoder",
        changes=(
            (
                "        for layer in self.enc:\n            mem = layer(mem)\n",
                "        for layer in self.enc:\n            mem = layer(mem)\n        mem = torch.tensor(mem.tolist())\n",
            ),
        ),
        modules=("enc.3", "dec.0", "dec.1", "dec.2", "dec.3"),
        line=46,
        at="tolist()",
        words=("tolist", "value copied out"),
        counts=Counts(some=43, none=25),
    ),
    Planted(
        kind="copied_out",
        script="multi_task",
        changes=(
            (
                "+ l_pose +",
                "+ l_pose.item() +",
            ),
        ),
        modules=("heads.pose",),
        line=38,
        at="l_pose.item()",
        words=("item()", "value copied out"),
        counts=Counts(some=12, none=2),
        cards=("loss", "l_pose"),
    ),
    Planted(
        kind="not_differentiable",
        script="gpt2",
        changes=(
            (
                '        p = scores.masked_fill(later, float("-inf")).softmax(-1)\n',
                '        best = scores.masked_fill(later, float("-inf")).argmax(-1)\n        p = F.one_hot(best, n).float()\n',
            ),
        ),
        modules=(
            "transformer.h.0",
            "transformer.h.0.attn",
            "transformer.h.1",
            "transformer.h.1.attn",
            "transformer.h.2",
            "transformer.h.2.attn",
            "transformer.h.3",
            "transformer.h.3.attn",
            "transformer.h.4",
            "transformer.h.4.attn",
            "transformer.h.5",
            "transformer.h.5.attn",
            "transformer.h.6",
            "transformer.h.6.attn",
            "transformer.h.7",
            "transformer.h.7.attn",
            "transformer.h.8",
            "transformer.h.8.attn",
            "transformer.h.9",
            "transformer.h.9.attn",
            "transformer.h.10",
            "transformer.h.10.attn",
            "transformer.h.11",
            "transformer.h.11.attn",
        ),
        line=21,
        at="argmax(-1)",
        words=("argmax", "non-differentiable"),
        counts=Counts(some=148),
    ),
    Planted(
        kind="not_differentiable",
        script="gan",
        changes=(
            (
                "lossG = bce(D(fake), ones)",
                "lossG = bce(D((fake > 0).float()), ones)",
            ),
        ),
        modules=("G",),
        line=24,
        at="fake > 0",
        words=("fake > 0", "comparison", "bool", "non-differentiable"),
        counts=Counts(some=6, none=6),
        cards=("lossG", "fake", "D((fake > 0).float())"),
    ),
    Planted(
        kind="integer_cast",
        script="gpt2",
        changes=(
            (
                "        for block in self.h:\n            x = block(x)\n",
                "        for i, block in enumerate(self.h):\n            x = block(x)\n            if i == 2:\n                x = (x * 100).int() / 100\n",
            ),
        ),
        modules=("transformer.h.2", "transformer.h.3"),
        line=66,
        at=".int() / 100",
        words=("int()", "integer"),
        counts=Counts(some=111, none=37),
    ),
    Planted(
        kind="integer_cast",
        script="unet",
        changes=(
            (
                "        m = self.mid(F.max_pool2d(d4, 2))\n",
                "        m = self.mid(F.max_pool2d(d4, 2))\n        m = (m * 10).to(torch.int8).float() / 10\n",
            ),
        ),
        modules=("mid", "up4"),
        line=57,
        at="torch.int8",
        words=("int8", "integer"),
        counts=Counts(some=50, none=6),
    ),
    Planted(
        kind="integer_cast",
        script="encoder_decoder",
        changes=(
            (
                "return self.head(x)",
                "return self.head((x * 8).int() / 8)",
            ),
        ),
        modules=("dec.3", "head"),
        line=49,
        at=".int() / 8",
        words=("int()", "integer"),
        counts=Counts(some=2, none=66),
    ),
    Planted(
        kind="integer_cast",
        script="multi_task",
        changes=(
            (
                'out["age"][:, 0], t',
                'out["age"][:, 0].long().float(), t',
            ),
        ),
        modules=("heads.age",),
        line=33,
        at=".long()",
        words=("long()", "integer"),
        counts=Counts(some=12, none=2),
        cards=("l_age",),
    ),
    Planted(
        kind="wrong_tensor",
        script="unet",
        changes=(
            (
                "[twice(u3), d2]",
                "[d2, d2]",
            ),
        ),
        modules=("up3", "up2"),
        line=50,
        at="[d2, d2]",
        words=("does not use",),
        counts=Counts(some=26, none=30),
        line_can_be_seen=False,
    ),
    Planted(
        kind="wrong_tensor",
        script="multi_task",
        changes=(
            (
                'F.mse_loss(out["gaze"], g)',
                'F.mse_loss(out["pose"][:, :2], g)',
            ),
        ),
        modules=("heads.gaze",),
        line=37,
        at='out["pose"][:, :2]',
        words=("does not use",),
        counts=Counts(some=12, none=2),
        cards=("l_gaze",),
        line_can_be_seen=False,
    ),
    Planted(
        kind="not_in_optimizer",
        script="gpt2",
        changes=(
            (
                "opt.zero_grad()\n",
                "opt.zero_grad()\nmodel.transformer.ln_f = nn.LayerNorm(48)\n",
            ),
        ),
        modules=("transformer.ln_f",),
        line=88,
        at="ln_f = nn.LayerNorm(48)",
        words=("no optimizer",),
        counts=Counts(some=148, unowned=2),
    ),
    Planted(
        kind="not_in_optimizer",
        script="gan",
        changes=(
            (
                "z = torch.randn(4, 8)\n",
                "G[4] = nn.Linear(32, 16)\nz = torch.randn(4, 8)\n",
            ),
        ),
        modules=("G.4",),
        line=15,
        at="G[4] = nn.Linear",
        words=("no optimizer",),
        counts=Counts(some=12, unowned=2),
    ),
    Planted(
        kind="in_place_under_no_grad",
        script="gpt2",
        changes=(
            (
                "        x = x + a\n",
                "        if self.layer_idx == 6:\n            x = x.clone()\n            with torch.no_grad():\n                x += a\n        else:\n            x = x + a\n",
            ),
        ),
        modules=("transformer.h.6", "transformer.h.6.attn"),
        line=50,
        at="x += a",
        words=("in-place", "in place"),
        counts=Counts(some=142, none=6),
        near=(49,),
    ),
    Planted(
        kind="in_place_under_no_grad",
        script="encoder_decoder",
        changes=(
            (
                "        for layer in self.dec:\n            x = layer(x, mem)\n",
                "        room = torch.zeros_like(mem)\n        with torch.no_grad():\n            room.copy_(mem)\n        for layer in self.dec:\n            x = layer(x, room)\n",
            ),
        ),
        modules=("enc.3", "dec.0", "dec.1", "dec.2", "dec.3"),
        line=49,
        at="room.copy_(mem)",
        words=("in-place", "in place"),
        counts=Counts(some=43, none=25),
        near=(48,),
    ),
    Planted(
        kind="zero_or_vanishing",
        script="gpt2",
        changes=(
            (
                "        x = x + a\n",
                "        if self.layer_idx == 8:\n            a = 0.0 * a\n        x = x + a\n",
            ),
        ),
        modules=("transformer.h.8", "transformer.h.8.attn"),
        line=48,
        at="a = 0.0 * a",
        words=("zero",),
        counts=Counts(some=142, zero=6),
    ),
    Planted(
        kind="zero_or_vanishing",
        script="unet",
        changes=(
            (
                "        m = self.mid(F.max_pool2d(d4, 2))\n",
                "        m = F.relu(self.mid(F.max_pool2d(d4, 2)) - 100.0)\n",
            ),
        ),
        modules=("mid",),
        line=56,
        at="- 100.0)",
        words=("zero",),
        counts=Counts(some=50, zero=6),
    ),
    Planted(
        kind="zero_or_vanishing",
        script="encoder_decoder",
        changes=(
            (
                "return self.head(x)",
                "return self.head(1e-12 * x)",
            ),
        ),
        modules=("head", "dec.3"),
        line=49,
        at="1e-12 * x",
        words=("vanish",),
        counts=Counts(some=1, vanishing=67),
    ),
]
