# https://github.com/Lightning-AI/pytorch-lightning/issues/712
import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# Make toy dataset
features = torch.from_numpy(np.asarray([[0], [0], [0], [1], [1], [1]])).float()
targets = torch.from_numpy(np.asarray([0, 0, 0, 1, 1, 1]))
train = TensorDataset(features, targets)
train_loader = DataLoader(train, batch_size=2, shuffle=True)


# Define lightning model
class CoolSystem(torch.nn.Module):
    def __init__(self):
        super(CoolSystem, self).__init__()
        self.l1 = torch.nn.Linear(1, 10)
        self.l2 = torch.nn.Linear(10, 2)
        for param in self.l2.parameters():
            param.requires_grad = False
        self.loss_func = torch.nn.CrossEntropyLoss()

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))

    def training_step(self, batch, batch_nb):
        x, y = batch
        output = self.forward(x)
        loss = self.loss_func(output, y)
        return {'loss': loss, 'log': {'train_loss': loss.item()}}

    def configure_optimizers(self):
        return [torch.optim.Adam(self.parameters(), lr=0.02)]

    def train_dataloader(self):
        return train_loader


class Trainer:
    """The loop of the trainer, in short."""

    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def get_model(self):
        return self.model

    def fit(self, model):
        self.model, self.optimizers = model, model.configure_optimizers()
        for epoch in range(self.max_epochs):
            for batch_idx, batch in enumerate(model.train_dataloader()):
                self.run_training_batch(batch, batch_idx)

    def run_training_batch(self, batch, batch_idx):
        for opt_idx, optimizer in enumerate(self.optimizers):
            # make sure only the gradients of the current optimizer's parameters are calculated
            for param in self.get_model().parameters():
                param.requires_grad = False
            for group in optimizer.param_groups:
                for param in group['params']:
                    param.requires_grad = True
            output = self.get_model().training_step(batch, batch_idx)
            optimizer.zero_grad()
            output['loss'].backward()
            optimizer.step()


# %%
cool_model = CoolSystem()
weights_before = cool_model.l2.weight.clone().detach().numpy()
trainer = Trainer(max_epochs=5)
trainer.fit(cool_model)
weights_after = cool_model.l2.weight.clone().detach().numpy()
print('before:', weights_before)
print('after:', weights_after)
