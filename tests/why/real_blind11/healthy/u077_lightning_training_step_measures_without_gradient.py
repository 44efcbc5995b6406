# https://github.com/rasbt/faster-pytorch-blog/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LightningModel(nn.Module):
    def __init__(self, model, learning_rate):
        super().__init__()
        self.model, self.learning_rate = model, learning_rate
        self.train_acc = []

    def forward(self, x):
        return self.model(x)

    def _shared_step(self, batch):
        features, true_labels = batch
        logits = self(features)
        loss = F.cross_entropy(logits, true_labels)
        predicted_labels = torch.argmax(logits, dim=1)
        return loss, true_labels, predicted_labels

    def training_step(self, batch, batch_idx):
        loss, true_labels, predicted_labels = self._shared_step(batch)
        # Do another forward pass in .eval() mode to compute accuracy
        # while accounting for Dropout, BatchNorm etc. behavior
        # during evaluation (inference)
        self.model.eval()
        with torch.no_grad():
            _, true_labels, predicted_labels = self._shared_step(batch)
        self.train_acc.append((predicted_labels == true_labels).float().mean().item())
        self.model.train()
        return loss  # this is passed to the optimzer for training

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


# %%
pytorch_model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 4))
lightning_model = LightningModel(pytorch_model, learning_rate=0.01)
optimizer = lightning_model.configure_optimizers()
features = torch.randn(128, 20)
labels = features[:, :4].argmax(1)
batches = list(zip(features.split(32), labels.split(32)))

# %%
losses = []
for epoch in range(10):
    for batch_idx, batch in enumerate(batches):
        loss = lightning_model.training_step(batch, batch_idx)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1], lightning_model.train_acc[-1])
assert losses[-1] < losses[0] and lightning_model.train_acc[-1] > 0.7
assert lightning_model.model.training
