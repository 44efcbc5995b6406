# https://github.com/ifzhang/FairMOT/issues/19
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DLASeg(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.hm, self.id = nn.Conv2d(8, 1, 1), nn.Conv2d(8, 4, 1)

    def forward(self, x):
        h = self.base(x)
        return {"hm": self.hm(h), "id": self.id(h)}


class MotLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.IDLoss = nn.CrossEntropyLoss()
        self.s_det = nn.Parameter(-1.85 * torch.ones(1))
        self.s_id = nn.Parameter(-1.05 * torch.ones(1))

    def forward(self, output, batch):
        det_loss = F.binary_cross_entropy_with_logits(output["hm"], batch["hm"])
        id_loss = self.IDLoss(output["id"].mean((2, 3)), batch["ids"])
        loss = torch.exp(-self.s_det) * det_loss + torch.exp(-self.s_id) * id_loss + (self.s_det + self.s_id)
        loss *= 0.5
        return loss, {"loss": loss, "hm_loss": det_loss, "id_loss": id_loss}


class ModelWithLoss(nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, batch):
        return self.loss(self.model(batch["input"]), batch)


# %%
model = DLASeg()
loss_fn = MotLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model_with_loss = ModelWithLoss(model, loss_fn)
s_before = loss_fn.s_det.detach().clone()

# %%
for iter_id in range(4):
    batch = {"input": torch.rand(2, 3, 6, 6), "hm": torch.rand(2, 1, 6, 6), "ids": torch.randint(0, 4, (2,))}
    loss, loss_stats = model_with_loss(batch)
    loss = loss.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(iter_id, loss.item())
