# https://github.com/facebookresearch/swav/issues/48
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
bs, temperature, epsilon = 16, 0.1, 0.05


class Net(nn.Module):
    def __init__(self, feat_dim=8, nmb_prototypes=10):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 32), nn.ReLU())
        self.projection_head = nn.Linear(32, feat_dim)
        self.prototypes = nn.Linear(feat_dim, nmb_prototypes, bias=False)

    def forward(self, inputs):
        x = F.normalize(self.projection_head(self.backbone(torch.cat(inputs))), dim=1, p=2)
        return x, self.prototypes(x)


@torch.no_grad()
def sinkhorn(Q, nmb_iters=3):
    Q /= Q.sum()
    for it in range(nmb_iters):
        Q /= Q.sum(1, keepdim=True) * Q.shape[0]
        Q /= Q.sum(0, keepdim=True) * Q.shape[1]
    return (Q / Q.sum(0, keepdim=True)).t()


# %%
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
queue = torch.zeros(2, 32, 8)
images = torch.randn(bs, 20)
before = model.prototypes.weight.detach().clone()

# %%
for it in range(10):
    inputs = [images + 0.1 * torch.randn_like(images) for _ in range(2)]
    # normalize the prototypes
    with torch.no_grad():
        w = F.normalize(model.prototypes.weight.data.clone(), dim=1, p=2)
        model.prototypes.weight.copy_(w)
    embedding, output = model(inputs)
    embedding = embedding.detach()
    loss = 0
    for crop_id in range(2):
        with torch.no_grad():
            out = output[bs * crop_id: bs * (crop_id + 1)]
            if not torch.all(queue[crop_id, -1, :] == 0):
                out = torch.cat((torch.mm(queue[crop_id], model.prototypes.weight.t()), out))
            # fill the queue
            queue[crop_id, bs:] = queue[crop_id, :-bs].clone()
            queue[crop_id, :bs] = embedding[crop_id * bs: (crop_id + 1) * bs]
            q = sinkhorn(torch.exp(out / epsilon).t())[-bs:]
        v = 1 - crop_id
        p = F.softmax(output[bs * v: bs * (v + 1)] / temperature, dim=1)
        loss -= torch.mean(torch.sum(q * torch.log(p), dim=1))
    loss /= 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, loss.item())
assert not torch.equal(before, model.prototypes.weight)
assert model.backbone[0].weight.grad.abs().sum() > 0
