# https://github.com/hiyouga/LlamaFactory/pull/5163
import torch
from torch import nn

torch.manual_seed(0)


class Trainer:
    def __init__(self, model, num_steps):
        self.model = model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.lr_scheduler = self.create_scheduler(num_steps, optimizer)

    def create_scheduler(self, num_steps, optimizer):
        return torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, num_steps)

    def training_step(self, inputs, labels):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        loss.backward()
        self.optimizer.step()
        self.lr_scheduler.step()
        return loss.detach()


trainer = Trainer(nn.Linear(8, 3), 10)
rates = []
for step in range(10):
    loss = trainer.training_step(torch.randn(4, 8), torch.randint(3, (4,)))
    rates.append(trainer.optimizer.param_groups[0]["lr"])
    print(step, loss.item(), rates[-1])
