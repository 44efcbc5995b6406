# https://github.com/Lightning-AI/pytorch-lightning/issues/19517
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LightningModule(nn.Module):
    def configure_optimizers(self):
        raise NotImplementedError

    def training_step(self, batch, batch_idx):
        raise NotImplementedError


class Trainer:
    def __init__(self, precision="bf16-mixed", max_steps=4):
        self.precision = precision
        self.max_steps = max_steps

    def forward_context(self):
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.precision == "bf16-mixed")

    def fit(self, model, train_dataloader):
        optimizer = model.configure_optimizers()
        model.train()
        for batch_idx, batch in enumerate(train_dataloader):
            if batch_idx == self.max_steps:
                break

            def closure():
                with self.forward_context():
                    loss = model.training_step(batch, batch_idx)
                optimizer.zero_grad()
                loss.backward()
                return loss

            optimizer.step(closure)


# %%
class BoringModel(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 2)
        self.history = []

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        with torch.no_grad():
            target = self(batch + 0.01 * torch.randn_like(batch)).float()
            target = F.softmax(4 * target, dim=-1)

        out = self(batch)
        loss = F.cross_entropy(out.float(), target)
        self.history.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.layer.parameters(), lr=0.1)


class RandomDataset(torch.utils.data.Dataset):
    def __init__(self, size, length):
        self.len = length
        self.data = torch.randn(length, size)

    def __getitem__(self, index):
        return self.data[index]

    def __len__(self):
        return self.len


# %%
train_data = torch.utils.data.DataLoader(RandomDataset(32, 512), batch_size=8)
model = BoringModel()
before = model.layer.weight.detach().clone()
trainer = Trainer(precision="bf16-mixed", max_steps=40)

# %%
trainer.fit(model, train_data)
print(model.history[0], model.history[-1])
