# https://github.com/facebookresearch/swav/blob/main/main_swav.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResNet(nn.Module):
    def __init__(self, nmb_prototypes=6):
        super().__init__()
        self.conv1 = nn.Linear(12, 16)
        self.projection_head = nn.Sequential(
            nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, 8)
        )
        self.prototypes = nn.Linear(8, nmb_prototypes, bias=False)

    def forward(self, inputs):
        x = torch.cat([F.relu(self.conv1(crop)) for crop in inputs])
        x = nn.functional.normalize(self.projection_head(x), dim=1, p=2)
        return x, self.prototypes(x)


@torch.no_grad()
def distributed_sinkhorn(out, epsilon=0.05, sinkhorn_iterations=3):
    Q = torch.exp(out / epsilon).t()
    Q /= torch.sum(Q)
    for _ in range(sinkhorn_iterations):
        Q /= torch.sum(Q, dim=1, keepdim=True)
        Q /= Q.shape[0]
        Q /= torch.sum(Q, dim=0, keepdim=True)
        Q /= Q.shape[1]
    return (Q * Q.shape[1]).t()


model = ResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-6)
queue = torch.zeros(2, 16, 8)
before = model.conv1.weight.detach().clone()

# %%
bs, use_the_queue, freeze_prototypes_niters, temperature = 8, True, 100, 0.1
for iteration in range(3):
    inputs = [torch.randn(bs, 12) for _ in range(4)]
    with torch.no_grad():
        w = model.prototypes.weight.data.clone()
        w = nn.functional.normalize(w, dim=1, p=2)
        model.prototypes.weight.copy_(w)
    embedding, output = model(inputs)
    embedding = embedding.detach()
    loss = 0
    for i, crop_id in enumerate([0, 1]):
        with torch.no_grad():
            out = output[bs * crop_id : bs * (crop_id + 1)].detach()
            if use_the_queue:
                out = torch.cat((torch.mm(queue[i], model.prototypes.weight.t()), out))
                queue[i, bs:] = queue[i, :-bs].clone()
                queue[i, :bs] = embedding[crop_id * bs : (crop_id + 1) * bs]
            q = distributed_sinkhorn(out)[-bs:]
        subloss = 0
        for v in [v for v in range(4) if v != crop_id]:
            x = output[bs * v : bs * (v + 1)] / temperature
            subloss -= torch.mean(torch.sum(q * F.log_softmax(x, dim=1), dim=1))
        loss += subloss / 3
    loss /= 2
    optimizer.zero_grad()
    loss.backward()
    if iteration < freeze_prototypes_niters:
        for name, p in model.named_parameters():
            if "prototypes" in name:
                p.grad = None
    optimizer.step()
    print(iteration, loss.item())
