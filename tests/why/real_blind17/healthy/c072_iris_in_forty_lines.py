# https://github.com/JamesMcGuigan/ecosystem-research/blob/master/python/pytorch/iris/1_iris_chatgpt.py
import torch
from torch import nn, optim

torch.manual_seed(0)


def load_iris():
    """Made up around the means and spreads of the three kinds."""
    means = torch.tensor([[5.01, 3.43, 1.46, 0.25], [5.94, 2.77, 4.26, 1.33], [6.59, 2.97, 5.55, 2.03]])
    spreads = torch.tensor([[0.35, 0.38, 0.17, 0.11], [0.52, 0.31, 0.47, 0.20], [0.64, 0.32, 0.55, 0.27]])
    target = torch.arange(3).repeat_interleave(50)
    return means[target] + spreads[target] * torch.randn(150, 4), target


# %%
# 1) Data
X, y = load_iris()


# 2) Model
class IrisNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(4, 16),
            nn.ReLU(),
            nn.Linear(16, 3)
        )

    def forward(self, x):
        return self.net(x)


model = IrisNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.05)

# %%
# 3) Train
epochs = 200
history = []
for epoch in range(1, epochs + 1):
    optimizer.zero_grad()
    logits = model(X)
    loss = criterion(logits, y)
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    if epoch % 20 == 0:
        print(f"Epoch {epoch:03d} - Loss: {loss.item():.4f}")

# %%
# 4) Evaluate
with torch.no_grad():
    preds = model(X).argmax(dim=1)
    acc = (preds == y).float().mean()
print(f"Final train accuracy: {acc:.2%}")
assert acc > 0.8 and history[-1] < 0.5 * history[0]
