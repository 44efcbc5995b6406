# https://github.com/IntelLabs/matsciml/pull/347
import torch
import torch.nn as nn

torch.manual_seed(0)


class GraphEncoder(nn.Module):
    def __init__(self, node_dim=6, hidden=32):
        super().__init__()
        self.nodes = nn.Sequential(nn.Linear(node_dim, hidden), nn.SiLU())

    def forward(self, batch):
        h = self.nodes(batch["node_feats"])
        out = torch.zeros(batch["num_graphs"], h.size(1))
        return out.index_add(0, batch["graph_index"], h)


class ScalarRegressionTask(nn.Module):
    def __init__(self, encoder, task_keys, lr=5e-3):
        super().__init__()
        self.encoder, self.task_keys, self.lr = encoder, task_keys, lr
        self.output_heads = nn.ModuleDict({key: nn.Linear(32, 1) for key in task_keys})
        self.loss_funcs = {key: nn.MSELoss() for key in task_keys}

    def forward(self, batch):
        embedding = self.encoder(batch)
        return {key: head(embedding).squeeze(-1) for key, head in self.output_heads.items()}

    def _compute_losses(self, batch):
        targets, outputs = batch["targets"], self(batch)
        losses = {}
        for key in self.task_keys:
            loss_func = self.loss_funcs[key]
            losses[key] = loss_func(outputs[key], targets[key])
        return losses

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def make_batch(num_graphs=32):
    node_feats = torch.randn(num_graphs * 5, 6)
    graph_index = torch.arange(num_graphs).repeat_interleave(5)
    label = node_feats.view(num_graphs, 5, 6)[..., 0].sum(1, keepdim=True)  # [N, 1]
    return {"node_feats": node_feats, "graph_index": graph_index, "num_graphs": num_graphs,
            "targets": {"band_gap": label / label.std()}}


# %%
task = ScalarRegressionTask(GraphEncoder(), ["band_gap"])
optimizer = task.configure_optimizers()
for step in range(200):
    batch = make_batch()
    losses = task._compute_losses(batch)
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
