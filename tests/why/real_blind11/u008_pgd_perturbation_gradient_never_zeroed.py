# https://github.com/locuslab/fast_adversarial/issues/26
import torch
import torch.nn as nn

torch.manual_seed(0)


class Flatten(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)


def mnist_net():
    model = nn.Sequential(
        nn.Conv2d(1, 8, 4, stride=2, padding=1),
        nn.ReLU(),
        Flatten(),
        nn.Linear(8*8*8, 32),
        nn.ReLU(),
        nn.Linear(32, 10)
    )
    return model


# %%
epsilon, alpha, attack_iters = 0.3, 0.1, 3
model = mnist_net()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
X, y = torch.rand(16, 1, 16, 16), torch.randint(0, 10, (16,))

# %%
for epoch in range(2):
    delta = torch.zeros_like(X).uniform_(-epsilon, epsilon)
    delta.data = torch.max(torch.min(1-X, delta.data), 0-X)
    for _ in range(attack_iters):
        delta.requires_grad = True
        output = model(X + delta)
        loss = criterion(output, y)
        opt.zero_grad()
        loss.backward()  # by the perturbation
        grad = delta.grad.detach()
        I = output.max(1)[1] == y
        delta.data[I] = torch.clamp(delta + alpha * torch.sign(grad), -epsilon, epsilon)[I]
        delta.data[I] = torch.max(torch.min(1-X, delta.data), 0-X)[I]
    delta = delta.detach()
    output = model(torch.clamp(X + delta, 0, 1))
    loss = criterion(output, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
