# https://github.com/pytorch/examples/blob/main/distributed/ddp/example.py
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim

from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(0)


class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def setup(local_world_size, local_rank):
    store = os.path.join(tempfile.mkdtemp(), "tmp_filestore")
    init_method = "file://" + store
    dist.init_process_group(backend="gloo", init_method=init_method, rank=local_rank, world_size=local_world_size)
    print(
        f"world_size = {dist.get_world_size()}, "
        + f"rank = {dist.get_rank()}, backend={dist.get_backend()}"
    )


# %%
parser = argparse.ArgumentParser()
# This is passed in via launch.py
parser.add_argument("--local_rank", type=int, default=0)
# This needs to be explicitly passed in
parser.add_argument("--local_world_size", type=int, default=1)
args = parser.parse_args([])
setup(args.local_world_size, args.local_rank)

# %%
model = ToyModel()
teacher = ToyModel()
for p in teacher.parameters():
    p.requires_grad = False
    p.mul_(2)
before = [p.detach().clone() for p in model.parameters()]
ddp_model = DDP(model)

loss_fn = nn.MSELoss()
optimizer = optim.SGD(ddp_model.parameters(), lr=0.1)

losses = []
for step in range(800):
    optimizer.zero_grad()
    inputs = torch.randn(20, 10)
    outputs = ddp_model(inputs)
    labels = teacher(inputs)
    loss = loss_fn(outputs, labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
with torch.no_grad():
    moved = min((a - b).abs().max().item() for a, b in zip(before, model.parameters()))
    variance = teacher(torch.randn(500, 10)).var(0).mean().item()
late = sum(losses[-20:]) / 20
inputs = torch.randn(64, 10)
optimizer.zero_grad()
loss_fn(ddp_model(inputs), teacher(inputs)).backward()
through_ddp = [p.grad.clone() for p in model.parameters()]
plain = torch.autograd.grad(loss_fn(model(inputs), teacher(inputs)), list(model.parameters()))
same = all(torch.allclose(a, b, atol=1e-6) for a, b in zip(through_ddp, plain))
# Tear down the process group
dist.destroy_process_group()
print(losses[0], late, variance, moved, same)
assert same and moved > 1e-2 and late < 0.3 * variance
