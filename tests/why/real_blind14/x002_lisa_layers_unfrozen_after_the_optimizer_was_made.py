# https://github.com/OptimalScale/LMFlow/issues/726
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class TinyLM(nn.Module):
    def __init__(self, vocab=32, dim=16, n_layers=4):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(n_layers)])
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids):
        h = self.embed_tokens(input_ids)
        for layer in self.layers:
            h = h + torch.tanh(layer(h))
        return self.lm_head(h)


class DynamicLayerActivationCallback:
    def __init__(self, n_layers, interval_steps, model):
        self.n_layers, self.interval_steps, self.model = n_layers, interval_steps, model
        self.total_layers = len(model.layers)
        self.freeze_all_layers()

    def freeze_all_layers(self):
        for layer in self.model.layers:
            for param in layer.parameters():
                param.requires_grad = False

    def on_step_begin(self, global_step):
        if global_step % self.interval_steps == 0:
            self.switch_active_layers()

    def switch_active_layers(self):
        self.freeze_all_layers()
        for idx in random.sample(range(self.total_layers), self.n_layers):
            for param in self.model.layers[idx].parameters():
                param.requires_grad = True


class Trainer:
    def __init__(self, model, callback):
        self.model, self.callback = model, callback

    def create_optimizer(self):
        optimizer_grouped_parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(optimizer_grouped_parameters, lr=1e-2)

    def train(self, max_steps=40):
        self.create_optimizer()
        for step in range(max_steps):
            self.callback.on_step_begin(step)
            input_ids = torch.randint(0, 32, (8, 10))
            labels = (input_ids + 1) % 32
            loss = F.cross_entropy(self.model(input_ids).flatten(0, 1), labels.flatten())
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss


# %%
model = TinyLM()
at_first = [layer.weight.detach().clone() for layer in model.layers]
lisa = DynamicLayerActivationCallback(n_layers=2, interval_steps=5, model=model)
trainer = Trainer(model, lisa)
loss = trainer.train()
print(loss.item())
