# https://github.com/ultralytics/ultralytics/pull/11217
import torch
import torch.nn as nn

torch.manual_seed(0)


class BaseTrainer:
    def __init__(self, epochs=4, nbs=16, batch_size=4):
        self.epochs, self.batch_size = epochs, batch_size
        self.start_epoch = 0
        self.model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
        self.accumulate = max(round(nbs / self.batch_size), 1)  # accumulate loss before optimizing
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.train_loader = [(torch.rand(batch_size, 3, 8, 8), torch.randint(4, (batch_size,))) for _ in range(5)]
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lr_lambda=lambda x: max(1 - x / epochs, 0) * 0.99 + 0.01)
        self.batches_in_a_step, self.count = [], 0

    def optimizer_step(self):
        """Perform a single step of the training optimizer with gradient clipping and EMA update."""
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=10.0)  # clip gradients
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self):
        nb = len(self.train_loader)  # number of batches
        last_opt_step = -1
        for epoch in range(self.start_epoch, self.epochs):
            self.model.train()
            pbar = enumerate(self.train_loader)
            self.tloss = None
            self.optimizer.zero_grad()  # zero any resumed gradients to ensure stability on train start
            for i, batch in pbar:
                ni = i + nb * epoch
                # Forward
                images, targets = batch
                self.loss = nn.functional.cross_entropy(self.model(images), targets)
                self.tloss = (self.tloss * i + self.loss.item()) / (i + 1) if self.tloss is not None else self.loss.item()
                # Backward
                self.count = 1 if self.model[0].weight.grad is None else self.count + 1
                self.loss.backward()

                # Optimize - https://pytorch.org/docs/master/notes/amp_examples.html
                if ni - last_opt_step >= self.accumulate:
                    self.optimizer_step()
                    last_opt_step = ni
                    self.batches_in_a_step.append(self.count)
            self.scheduler.step()
            print("epoch", epoch, "loss", self.tloss, "batches in each step", self.batches_in_a_step)


# %%
trainer = BaseTrainer()
trainer.train()
