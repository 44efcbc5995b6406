# https://discuss.pytorch.org/t/how-to-not-lose-the-gradient-on-this-operation
import torch
import torch.nn as nn

torch.manual_seed(0)

B, A, C = 2, 4, 3
net = nn.Linear(6, A * C)
labeler = nn.Linear(6, A * C)
optimizer = torch.optim.Adam([*net.parameters(), *labeler.parameters()], lr=1e-2)
criterion = nn.CrossEntropyLoss()


def class_numbers(w):
    wa = 1 * (w == torch.max(w, dim=2)[0].unsqueeze(-1))
    wp = torch.max(wa, dim=2)[1]
    return wp


# %%
for step in range(5):
    x = torch.randn(B, 6)
    w = torch.softmax(net(x).view(B, A, C), dim=2)
    v = torch.softmax(labeler(x).view(B, A, C), dim=2)
    y = class_numbers(v)
    loss = criterion(w.transpose(1, 2), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), y.requires_grad)
