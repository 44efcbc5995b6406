# https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66
import torch
from torch import nn

torch.manual_seed(0)


class Configs:
    def __init__(self, small, large):
        self.small, self.large = small, large
        self.kl_div_loss = nn.KLDivLoss(log_target=True, reduction="batchmean")
        self.loss_func = nn.CrossEntropyLoss()
        self.temperature = 5.0
        self.soft_targets_weight = 100.0
        self.label_loss_weight = 0.5
        self.optimizer = torch.optim.Adam(self.small.parameters(), lr=2.5e-4)

    def step(self, batch):
        data, target = batch
        with torch.no_grad():
            large_logits = self.large(data)
        output = self.small(data)
        soft_targets = nn.functional.log_softmax(large_logits / self.temperature, dim=-1)
        prob = nn.functional.log_softmax(large_logits / self.temperature, dim=-1)
        soft_loss = self.kl_div_loss(prob, soft_targets)
        label_loss = self.loss_func(output, target)
        loss = self.soft_targets_weight * soft_loss + self.label_loss_weight * label_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return soft_loss, label_loss


# %%
large = nn.Sequential(nn.Flatten(), nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 10)).eval()
small = nn.Sequential(nn.Flatten(), nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 10))
conf = Configs(small, large)

# %%
for i in range(4):
    batch = torch.rand(8, 3, 4, 4), torch.randint(0, 10, (8,))
    soft_loss, label_loss = conf.step(batch)
    print(soft_loss.item(), label_loss.item())
