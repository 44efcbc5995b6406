# https://github.com/es-ude/elastic-ai.creator/issues/253
import torch
from torch import nn

torch.manual_seed(0)


class Binarize(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            bx = torch.where(torch.gt(x, 0), 1.0, -1.0)
            dy = bx - x
        return x + dy


class BinaryConv1d(nn.Conv1d):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.binarize = Binarize()

    def forward(self, x):
        return self._conv_forward(x, self.binarize(self.weight), self.bias)


class QuantizedModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            BinaryConv1d(1, 8, 5, padding=2, bias=False),
            nn.BatchNorm1d(8),
            Binarize(),
            nn.MaxPool1d(2),
            BinaryConv1d(8, 16, 5, padding=2, bias=False),
            nn.BatchNorm1d(16),
            Binarize(),
            nn.AdaptiveAvgPool1d(4),
        )
        self.head = nn.Linear(64, 3)

    def forward(self, x):
        return self.head(self.layers(x).flatten(1))


# %%
time = torch.linspace(0, 1, 32)
labels = torch.randint(0, 3, (240,))
signals = torch.sin(2 * torch.pi * (labels[:, None] + 1.5) * time) + 0.2 * torch.randn(240, 32)
signals = signals[:, None]

# %%
model = QuantizedModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()
history = []
before = model.layers[0].weight.detach().clone()
for epoch in range(15):
    model.train()
    running = 0.0
    for batch in torch.randperm(240).split(48):
        optimizer.zero_grad()
        loss = loss_fn(model(signals[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(batch)
    history.append(running / 240)
print(history[0], history[-1], (model.layers[0].weight - before).abs().max().item())
