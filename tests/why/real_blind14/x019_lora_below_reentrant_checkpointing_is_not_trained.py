# https://github.com/huggingface/transformers/issues/26221
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, r=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x))


class RobertaForClassification(nn.Module):
    def __init__(self, vocab=40, dim=16, layers=3, classes=2):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim).requires_grad_(False)
        self.layer = nn.ModuleList([LoraLinear(nn.Linear(dim, dim)) for _ in range(layers)])
        self.classifier = nn.Linear(dim, classes)
        self.gradient_checkpointing = False
        self.use_reentrant = None

    def gradient_checkpointing_enable(self, use_reentrant=True):
        self.gradient_checkpointing, self.use_reentrant = True, use_reentrant

    def forward(self, input_ids):
        hidden = self.embeddings(input_ids)
        for layer in self.layer:
            if self.gradient_checkpointing and self.training:
                hidden = checkpoint(layer, hidden, use_reentrant=self.use_reentrant)
            else:
                hidden = layer(hidden)
            hidden = torch.tanh(hidden)
        return self.classifier(hidden.mean(1))


class Trainer:
    def __init__(self, model, gradient_checkpointing=True, gradient_checkpointing_kwargs=None):
        self.model = model
        if gradient_checkpointing:
            model.gradient_checkpointing_enable(**(gradient_checkpointing_kwargs or {}))
        trained = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-2)

    def train(self, steps=10):
        self.model.train()
        for _ in range(steps):
            input_ids, labels = torch.randint(0, 40, (8, 6)), torch.randint(0, 2, (8,))
            loss = F.cross_entropy(self.model(input_ids), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss


# %%
model = RobertaForClassification()
model.gradient_checkpointing_enable(use_reentrant=False)
trainer = Trainer(model)
loss = trainer.train()
print(loss.item(), model.layer[0].lora_B.weight.norm().item())
