# https://github.com/locuslab/fast_adversarial/blob/master/MNIST/train_mnist.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
train_loader = [(torch.rand(16, 1, 8, 8), torch.randint(0, 10, (16,))) for _ in range(4)]
model = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 10))
epsilon, alpha = 0.3, 0.375

# %%
model.train()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

# %%
for i, (X, y) in enumerate(train_loader):
    delta = torch.zeros_like(X).uniform_(-epsilon, epsilon)
    delta.requires_grad = True
    output = model(X + delta)
    loss = F.cross_entropy(output, y)
    loss.backward()
    grad = delta.grad.detach()
    delta.data = torch.clamp(delta + alpha * torch.sign(grad), -epsilon, epsilon)
    delta.data = torch.max(torch.min(1-X, delta.data), 0-X)
    delta = delta.detach()

    output = model(torch.clamp(X + delta, 0, 1))
    loss = criterion(output, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
