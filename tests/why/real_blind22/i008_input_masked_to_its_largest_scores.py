# https://discuss.pytorch.org/t/differentiable-top-k-masking
import torch
import torch.nn as nn

torch.manual_seed(0)


class TopMasking(nn.Module):
    """Mask an input based on the top k masking values."""

    def __init__(self, rows=5, cols=5, top=2):
        super().__init__()
        self.top = top
        self.mask = nn.Parameter(torch.rand(rows, cols))

    def forward(self, inp):
        top_mask_indices = torch.topk(self.mask, self.top, dim=0).indices
        masked_inp = torch.gather(inp, 0, top_mask_indices)
        return masked_inp


# %%
top = 2

inp = torch.rand(5, 5, requires_grad=True)
mask = TopMasking(5, 5, top)
target = torch.rand(top, 5)

loss = torch.mean((mask(inp) - target) ** 2)
loss.backward()

print(mask.mask.grad)
print(inp.grad)

# %%
optimizer = torch.optim.Adam([{'params': mask.parameters()}, {'params': [inp]}], lr=0.02)
before = mask.mask.detach().clone()
losses = []
for step in range(60):
    loss = torch.mean((mask(inp) - target) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, loss.item())

# %%
moved = (mask.mask.detach() - before).abs().max().item()
print(losses[-1], moved)
