# https://github.com/learnables/learn2learn/issues/363
import torch
import torch.nn as nn


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 8)
        self.pooler = nn.Linear(8, 8)
        self.classifier = nn.Linear(8, 5)

    def forward(self, x):
        return self.classifier(torch.tanh(self.encoder(x)))


class MAML:
    def __init__(self, module, lr, allow_unused=False):
        self.module, self.lr, self.allow_unused = module, lr, allow_unused

    def adapt(self, loss):
        params = list(self.module.parameters())
        gradients = torch.autograd.grad(loss, params, create_graph=True, allow_unused=self.allow_unused)
        with torch.no_grad():
            for p, g in zip(params, gradients):
                if g is not None:
                    p -= self.lr * g


# %%
learner = ViT()
maml = MAML(learner, lr=0.5)
x, y = torch.randn(10, 6), torch.randint(5, (10,))

# %%
error = nn.functional.cross_entropy(learner(x), y)
maml.adapt(error)
