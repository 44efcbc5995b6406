# https://github.com/meta-pytorch/torchforge/pull/71
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Decoder(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.out(self.rnn(self.tok(tokens))[0])


class ForgeSFTRecipe:
    def __init__(self, model, steps):
        self.model, self.num_training_steps = model, steps
        self.optimizers = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def forward_backward(self, batch):
        tokens, labels = batch[:, :-1], batch[:, 1:]
        loss = F.cross_entropy(self.model(tokens).flatten(0, 1), labels.flatten())
        loss.backward()
        return loss

    def train_step(self, batch):
        loss = self.forward_backward(batch)
        self.optimizers.step()
        return loss

    def train(self, batches):
        for step in range(self.num_training_steps):
            batch = batches[step % len(batches)]
            loss = self.train_step(batch)
        return loss, batch


# %%
recipe = ForgeSFTRecipe(Decoder(), steps=12)
loss, batch = recipe.train([torch.randint(0, 24, (4, 9)) for _ in range(3)])
summed = recipe.model.out.weight.grad.norm().item()
logits = recipe.model(batch[:, :-1]).flatten(0, 1)
of_one = torch.autograd.grad(F.cross_entropy(logits, batch[:, 1:].flatten()), recipe.model.out.weight)[0]
print(loss.item(), summed, of_one.norm().item())
