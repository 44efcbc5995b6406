"""A fourth set of faults that are looked at once: twelve in four models that no picture was made
for before, a denoiser, a vector-quantised autoencoder, message passing on a graph, and an encoder
with two objectives.

Each was proven by torch alone (``test_planted_truth``) and kept before any was drawn; how the
pictures told them, at the first look, stands in ``planted_blind4_result.txt``.
"""

from __future__ import annotations

from model_scripts import Counts, Planted

BLIND4 = [
    Planted(
        kind="copied_out",
        script="diffusion",
        changes=(
            (
                "temb = self.time(torch.cat([waves.sin(), waves.cos()], -1))",
                "temb = torch.tensor(self.time(torch.cat([waves.sin(), waves.cos()], -1)).tolist())",
            ),
        ),
        modules=("model.time",),
        line=38,
        at=".tolist()",
        words=("copied out",),
        counts=Counts(some=22, none=4, frozen=26),
    ),
    Planted(
        kind="inference_mode",
        script="diffusion",
        changes=(
            (
                "        h = self.mid(h, temb)\n",
                "        with torch.inference_mode():\n            h = self.mid(h, temb)\n        h = h.clone()\n",
            ),
        ),
        modules=("model.mid",),
        line=41,
        at="with torch.inference_mode()",
        words=("inference_mode",),
        counts=Counts(some=14, none=12, frozen=26),
        near=(42,),
    ),
    Planted(
        kind="dead_relu",
        script="diffusion",
        changes=(
            (
                "h = F.interpolate(h, scale_factor=2)",
                "h = F.interpolate(F.relu(h - 60.0), scale_factor=2)",
            ),
        ),
        modules=("model.mid", "model.down", "model.time"),
        line=42,
        at="F.relu(h - 60.0)",
        words=("only zeros",),
        counts=Counts(some=14, frozen=26, zero=12),
    ),
    Planted(
        kind="indices",
        script="vqvae",
        changes=(
            ("q = flat + (q - flat).detach()", "q = q"),
            (
                "commit = F.mse_loss(flat, q.detach())",
                "commit = F.mse_loss(flat.detach(), q.detach())",
            ),
        ),
        modules=("pre", "encoder", "quantise"),
        line=19,
        at="commit = F.mse_loss(flat.detach()",
        words=("detach", "non-differentiable", "index"),
        counts=Counts(some=5, none=6),
        near=(16, 18),
    ),
    Planted(
        kind="requires_grad_false",
        script="vqvae",
        changes=(
            (
                "self.codebook = nn.Embedding(codes, width)",
                "self.codebook = nn.Embedding(codes, width).requires_grad_(False)",
            ),
        ),
        modules=("quantise.codebook",),
        line=12,
        at="requires_grad_(False)",
        words=("frozen", "requires_grad"),
        counts=Counts(some=10, frozen=1),
        line_can_be_seen=False,
    ),
    Planted(
        kind="rounded",
        script="vqvae",
        changes=(
            ("z = self.pre(self.encoder(x))", "z = torch.round(self.pre(self.encoder(x)) * 8) / 8"),
        ),
        modules=("pre", "encoder"),
        line=38,
        at="torch.round(",
        words=("only zeros",),
        counts=Counts(some=5, zero=6),
    ),
    Planted(
        kind="no_grad",
        script="graph_net",
        changes=(
            (
                "        total = total.index_add(0, target, sent)\n",
                "        with torch.no_grad():\n            total.index_add_(0, target, sent)\n",
            ),
        ),
        modules=(
            "rounds.0.message",
            "rounds.1.message",
            "rounds.2.message",
            "rounds.0",
            "rounds.1",
            "rounds.2",
        ),
        line=19,
        at="with torch.no_grad()",
        words=("no_grad",),
        counts=Counts(some=20, none=6),
        near=(20,),
    ),
    Planted(
        kind="data_write",
        script="graph_net",
        changes=(
            ("total = total.index_add(0, target, sent)", "total.data.index_add_(0, target, sent)"),
        ),
        modules=(
            "rounds.0.message",
            "rounds.1.message",
            "rounds.2.message",
            "rounds.0",
            "rounds.1",
            "rounds.2",
        ),
        line=19,
        at="total.data",
        words=(".data",),
        counts=Counts(some=20, none=6),
    ),
    Planted(
        kind="wrong_tensor",
        script="graph_net",
        changes=(
            (
                "        for layer in self.rounds:\n            x = layer(x, edges)\n",
                "        x0 = x\n        for layer in self.rounds:\n            x = layer(x0, edges)\n",
            ),
        ),
        modules=("rounds.0", "rounds.1"),
        line=36,
        at="x = layer(x0, edges)",
        words=("does not use",),
        counts=Counts(some=14, none=12),
        line_can_be_seen=False,
    ),
    Planted(
        kind="not_in_optimizer",
        script="bert_pairs",
        changes=(
            (
                '    [\n        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.01},\n        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},\n    ],\n',
                "    [p for p in model.parameters() if p.dim() > 1],\n",
            ),
        ),
        modules=("layers.0", "layers.1", "layers.2", "layers.3", "pooler", "follows", "masked"),
        line=45,
        at="p.dim() > 1",
        words=("no optimizer",),
        counts=Counts(some=57, unowned=35),
        line_can_be_seen=False,
    ),
    Planted(
        kind="copied_out",
        script="bert_pairs",
        changes=(
            ("loss = masked_loss + follows_loss", "loss = masked_loss + follows_loss.item()"),
        ),
        modules=("pooler", "follows"),
        line=59,
        at=".item()",
        words=("copied out",),
        counts=Counts(some=53, none=4),
        cards=("follows_loss",),
    ),
    Planted(
        kind="integer_cast",
        script="bert_pairs",
        changes=(
            (
                "pooled = torch.tanh(self.pooler(x[:, 0]))",
                "pooled = torch.sign(self.pooler(x[:, 0])).to(torch.int8).float()",
            ),
        ),
        modules=("pooler",),
        line=39,
        at="torch.int8",
        words=("integer",),
        counts=Counts(some=55, none=2),
    ),
]
