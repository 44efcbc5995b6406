# https://github.com/Wuziyi616/multi_part_assembly/issues/4
import torch
from torch import nn

torch.manual_seed(0)


def compute_custom_loss(out_dict, data_dict):
    custom_loss = torch.Tensor(len(data_dict["data_id"])).fill_(7.0)
    return custom_loss


def _calc_loss(out_dict, data_dict):
    trans_loss = ((out_dict["trans"] - data_dict["trans"]) ** 2).mean(1)
    custom_loss = compute_custom_loss(out_dict, data_dict)
    return {"trans_loss": trans_loss, "custom_loss": custom_loss}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.trans, self.rot = nn.Linear(4, 3), nn.Linear(4, 4)

    def forward(self, x):
        return {"trans": self.trans(x), "rot": self.rot(x)}


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
data_dict = {"data_id": list(range(5)), "trans": torch.randn(5, 3)}
x = torch.randn(5, 4)
for epoch in range(4):
    loss_dict = _calc_loss(model(x), data_dict)
    loss = 0.0
    for name, value in loss_dict.items():
        loss = loss + value.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print({name: value.mean().item() for name, value in loss_dict.items()})
custom = loss_dict["custom_loss"]
