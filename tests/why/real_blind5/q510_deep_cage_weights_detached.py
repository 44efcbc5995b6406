# https://github.com/yifita/deep_cage/issues/16
import torch
import torch.nn as nn

torch.manual_seed(0)


def deform_with_MVC(cage, cage_deformed, query):
    """Weights of the cage's vertices at each query, and the deformed queries."""
    d = torch.cdist(query, cage) + 1e-3
    weights = 1 / d
    weights = weights / weights.sum(-1, keepdim=True)
    deformed = torch.matmul(weights, cage_deformed)
    weights = weights.detach()
    return deformed, weights


def mvc_reg_loss(weights):
    # negative or large weights are punished
    return (weights - 1.0 / weights.size(-1)).pow(2).mean()


class NetworkFull(nn.Module):
    def __init__(self, n=8):
        super().__init__()
        self.n = n
        self.encoder = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 16))
        self.nd_decoder = nn.Linear(32, 3 * n)
        self.D_cage = nn.Linear(16, 3 * n)
        self.register_buffer("template", torch.randn(1, n, 3))

    def forward(self, source_shape, target_shape):
        s_code = self.encoder(source_shape).max(1)[0]
        t_code = self.encoder(target_shape).max(1)[0]
        cage = self.template + 0.1 * self.D_cage(s_code).view(-1, self.n, 3)
        new_cage = cage + 0.1 * self.nd_decoder(torch.cat([s_code, t_code], 1)).view(-1, self.n, 3)
        deformed, weights = deform_with_MVC(cage, new_cage, source_shape)
        return {"cage": cage, "new_cage": new_cage, "deformed": deformed, "weight": weights}


# %%
mvc_weight = 10.0
net = NetworkFull()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
loss = {}
for i in range(3):
    source_shape, target_shape = torch.randn(2, 20, 3), torch.randn(2, 20, 3)
    outputs = net(source_shape, target_shape)
    loss["CD"] = torch.cdist(outputs["deformed"], target_shape).min(-1)[0].mean()
    loss["WREG"] = mvc_reg_loss(outputs["weight"]) * mvc_weight
    total = sum(loss.values())
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    print(i, {k: v.item() for k, v in loss.items()})
