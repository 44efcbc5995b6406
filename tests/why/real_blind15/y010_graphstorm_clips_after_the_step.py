# https://github.com/awslabs/graphstorm/issues/1366
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class NodeModel(nn.Module):
    def __init__(self, in_dim=8, hidden=16, classes=3):
        super().__init__()
        self.layer1 = nn.Linear(in_dim, hidden)
        self.layer2 = nn.Linear(hidden, hidden)
        self.decoder = nn.Linear(hidden, classes)

    def forward(self, adj, feats, labels):
        h = F.relu(self.layer1(adj @ feats))
        h = F.relu(self.layer2(adj @ h))
        return F.cross_entropy(self.decoder(h), labels)


class NodePredictionTrainer:
    def __init__(self, model):
        self.model = model
        self.moved = []

    def setup_optimizer(self, lr):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)

    def fit(self, train_loader, num_epochs, max_grad_norm=None, grad_norm_type=2.0):
        for epoch in range(num_epochs):
            self.model.train()
            for i, (adj, feats, labels) in enumerate(train_loader):
                before = [p.detach().clone() for p in self.model.parameters()]
                loss = self.model(adj, feats, labels)

                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

                if max_grad_norm is not None:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_grad_norm, grad_norm_type)
                self.keep_distance(before)
            print("Epoch", epoch, "Loss", loss.item(), "moved", self.moved[-1])

    def keep_distance(self, before):
        change = [(p.detach() - b).norm() for p, b in zip(self.model.parameters(), before)]
        self.moved.append(torch.stack(change).norm().item())


def make_loader(batches=8, nodes=24):
    loader = []
    for _ in range(batches):
        labels = torch.randint(0, 3, (nodes,))
        feats = 4.0 * F.one_hot(labels, 8).float() + torch.randn(nodes, 8)
        adj = (labels[:, None] == labels[None, :]).float() * (torch.rand(nodes, nodes) < 0.5)
        adj = adj + torch.eye(nodes)
        loader.append((adj / adj.sum(dim=1, keepdim=True), feats, labels))
    return loader


# %%
lr, max_grad_norm = 0.1, 0.1
model = NodeModel()
trainer = NodePredictionTrainer(model)
trainer.setup_optimizer(lr)
trainer.fit(make_loader(), num_epochs=3, max_grad_norm=max_grad_norm)
