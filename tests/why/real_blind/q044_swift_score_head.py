# https://github.com/modelscope/ms-swift/pull/10151
import torch
import torch.nn as nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Linear(5, 6)
        self.language_model = nn.Linear(6, 6)


class Qwen25VL(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Inner()
        self.lm_head = nn.Linear(6, 20)

    def forward(self, x):
        h = self.model.language_model(torch.tanh(self.model.visual(x)))
        return self.score(self.lm_head(h))


model = Qwen25VL()
# the patch for sequence classification
model.lm_head = nn.Identity()
model.score = nn.Linear(6, 2, bias=False)

# %%
vision_tower, language_model = ['model.visual'], ['model.language_model', 'lm_head']
groups = []
for prefixes, lr in ((vision_tower, 1e-2), (language_model, 1e-3)):
    params = [p for n, p in model.named_parameters() if n.startswith(tuple(prefixes)) and p.requires_grad]
    groups.append({'params': params, 'lr': lr})
optimizer = torch.optim.SGD(groups)

# %%
before = model.score.weight.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(4, 5)), torch.tensor([0, 1, 1, 0])).backward()
    optimizer.step()
print(model.score.weight.grad, torch.equal(before, model.score.weight))
