# https://github.com/NVIDIA/apex/issues/507
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AmpO2:
    """The model in bfloat16; the optimizer holds a copy of its weights in float32."""

    def __init__(self, model, optimizer, loss_scale=128.0):
        self.model, self.optimizer, self.loss_scale = model.to(torch.bfloat16), optimizer, loss_scale
        self.low_params, self.master_params = [], []
        for group in optimizer.param_groups:
            for i, param in enumerate(group['params']):
                master = param.detach().clone().float().requires_grad_(True)
                group['params'][i] = master
                self.low_params.append(param)
                self.master_params.append(master)

    def backward(self, loss):
        (loss.float() * self.loss_scale).backward()
        with torch.no_grad():
            for low, master in zip(self.low_params, self.master_params):
                master.grad = low.grad.float() / self.loss_scale

    def step(self):
        self.optimizer.step()
        with torch.no_grad():
            for low, master in zip(self.low_params, self.master_params):
                low.copy_(master)

    def zero_grad(self):
        for low, master in zip(self.low_params, self.master_params):
            low.grad = None
            master.grad = None


class Net(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 3)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def spiral(n):
    y = torch.randint(0, 3, (n,))
    r = torch.rand(n)
    angle = r * 4 + y * 2.0944 + 0.1 * torch.randn(n)
    return torch.stack([r * angle.cos(), r * angle.sin()], 1) * 2, y


# %%
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
amp = AmpO2(model, optimizer)
ids_of_the_model = {id(p) for p in model.parameters()}
losses = []

# %%
for it in range(500):
    x, y = spiral(128)
    output = model(x.to(torch.bfloat16))
    loss = F.cross_entropy(output.float(), y)
    amp.zero_grad()
    amp.backward(loss)
    grad_norm = torch.nn.utils.clip_grad_norm_(amp.master_params, 5.0)
    amp.step()
    losses.append(loss.item())

# %%
with torch.no_grad():
    x, y = spiral(1000)
    accuracy = (model(x.to(torch.bfloat16)).argmax(1) == y).float().mean().item()
held = [p for group in optimizer.param_groups for p in group['params']]
print(losses[0], losses[-1], accuracy)
assert not any(id(p) in ids_of_the_model for p in held)
assert all(p.dtype == torch.bfloat16 and p.grad.dtype == torch.bfloat16 for p in model.parameters())
assert all(torch.equal(low, master.to(torch.bfloat16)) for low, master in zip(amp.low_params, amp.master_params))
assert accuracy > 0.9
