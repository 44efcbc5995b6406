# https://github.com/tenstorrent/tt-blacksmith/pull/711
import math
from abc import ABC, abstractmethod
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, r=4, lora_alpha=8):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = lora_alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.t() @ self.lora_B.t()) * self.scaling


class CausalLM(nn.Module):
    def __init__(self, vocab_size=40, hidden_size=32):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.embed_tokens.requires_grad_(False)
        self.rnn.requires_grad_(False)
        self.up_proj = LoraLinear(nn.Linear(hidden_size, 64))
        self.lm_head = LoraLinear(nn.Linear(64, vocab_size))

    def forward(self, input_ids):
        hidden, _ = self.rnn(self.embed_tokens(input_ids))
        return SimpleNamespace(logits=self.lm_head(F.silu(self.up_proj(hidden))))


class Callback:
    def on_optimizer_step_start(self, trainer):
        pass


class GradNorm(Callback):
    def __init__(self):
        self.norms = []

    def on_optimizer_step_start(self, trainer):
        params = trainer.optimizer.param_groups[0]["params"]
        self.norms.append(torch.stack([p.grad.norm() for p in params]).norm().item())


class Trainer(ABC):
    def __init__(self, config, callbacks=()):
        self.config = config
        self.callbacks = callbacks
        self.global_step = 0
        self.model = self._load_model()
        self.train_dataloader = self._load_dataloader()
        self.optimizer = torch.optim.AdamW(
            filter(lambda p: p.requires_grad, self.model.parameters()), lr=config.learning_rate)

    def train(self):
        every = self.config.gradient_accumulation_steps
        for epoch in range(self.config.num_epochs):
            self.model.train()
            self.optimizer.zero_grad()
            for index, batch in enumerate(self.train_dataloader, start=1):
                loss = self._forward(batch)
                (loss / every).backward()
                if index % every == 0:
                    for callback in self.callbacks:
                        callback.on_optimizer_step_start(self)
                    self._optimizer_step()
                    self.global_step += 1
            print(epoch, self.global_step, loss.item())

    @abstractmethod
    def _load_model(self): ...

    @abstractmethod
    def _load_dataloader(self): ...

    def _optimizer_step(self):
        self.optimizer.step()


class LoraLLMTrainer(Trainer):
    def _load_model(self):
        return CausalLM()

    def _load_dataloader(self):
        return torch.randint(0, 40, (24, 4, 1)).add(torch.arange(9)).remainder(40)

    def _forward(self, batch):
        logits = self.model(input_ids=batch[:, :-1]).logits
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())


# %%
grad_norm = GradNorm()
trainer = LoraLLMTrainer(SimpleNamespace(learning_rate=2e-3, num_epochs=1, gradient_accumulation_steps=2), [grad_norm])
trainer.train()
print([round(norm, 3) for norm in grad_norm.norms])
