# https://github.com/pytorch/examples/issues/1325
import torch
import torch.nn as nn

torch.manual_seed(0)


class ToyModel(nn.Module):
    """MLP based model"""

    def __init__(self):
        super(ToyModel, self).__init__()
        self.in_proj = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(32, 5)

    def forward(self, x):
        return self.out_proj(self.relu(self.in_proj(x)))


class DeviceMesh:
    def __init__(self, world_size):
        self.rank, self.world_size = 0, world_size


class ColwiseParallel:
    dim = 0


class RowwiseParallel:
    dim = 1


def distribute(tensor, mesh, dim):
    return tensor.detach().chunk(mesh.world_size, dim)[mesh.rank].clone()


def parallelize_module(module, device_mesh, parallelize_plan):
    for path, style in parallelize_plan.items():
        layer = module.get_submodule(path)
        for name, param in list(layer.named_parameters(recurse=False)):
            dim = min(style.dim, param.dim() - 1)
            layer.register_parameter(name, nn.Parameter(distribute(param, device_mesh, dim)))
    return module


device_mesh = DeviceMesh(world_size=1)

# create model
tp_model = ToyModel()

# Create an optimizer for the parallelized module.
lr = 0.25
optimizer = torch.optim.AdamW(tp_model.parameters(), lr=lr, foreach=True)

# Custom parallelization plan for the model
tp_model = parallelize_module(
    module=tp_model,
    device_mesh=device_mesh,
    parallelize_plan={"in_proj": ColwiseParallel(), "out_proj": RowwiseParallel()},
)
before = [p.detach().clone() for p in tp_model.parameters()]

# %%
# Perform a num of iterations of forward/backward and optimizations for the sharded module.
num_iters = 10
print("Tensor Parallel training starting...")
for i in range(num_iters):
    torch.manual_seed(i)
    inp = torch.rand(20, 10)
    output = tp_model(inp)
    output.sum().backward()
    optimizer.step()
    print(f"Tensor Parallel iter {i} completed", output.sum().item())
print("Tensor Parallel training completed!")
