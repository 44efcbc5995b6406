# https://github.com/AaronComo/LipFD/issues/18
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)


class LipFD(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(24, 12)
        self.backbone = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.backbone(self.encoder(x))


class Trainer:
    def __init__(self, opt):
        self.opt = opt
        self.total_steps = 0
        self.model = LipFD()

        if opt.fix_encoder:
            for name, p in self.model.named_parameters():
                if name.split(".")[0] in ["encoder"]:
                    p.requires_grad = False
                else:
                    p.requires_grad = False

        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=opt.lr, weight_decay=opt.weight_decay)
        self.criterion1 = nn.BCEWithLogitsLoss()

    def set_input(self, input):
        self.input, self.label = input[0], input[1].float()

    def forward(self):
        self.output = self.model(self.input).view(-1)
        self.loss = self.criterion1(self.output, self.label)

    def optimize_parameters(self):
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()


# %%
opt = SimpleNamespace(fix_encoder=True, lr=2e-5, weight_decay=0.0)
trainer = Trainer(opt)
data_loader = [(torch.randn(10, 24), torch.randint(0, 2, (10,))) for _ in range(3)]

# %%
for i, (img, label) in enumerate(data_loader):
    trainer.total_steps += 1
    trainer.set_input((img, label))
    trainer.forward()
    trainer.optimize_parameters()
