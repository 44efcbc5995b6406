# https://github.com/GT-RIPL/Continual-Learning-Benchmark/issues/7
import torch
import torch.nn as nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, n_in=40, hidden=64, n_out=4):
        super().__init__()
        self.linear = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, hidden), nn.ReLU())
        self.last = nn.ModuleDict({'1': nn.Linear(hidden, n_out), '2': nn.Linear(hidden, n_out)})

    def forward(self, x):
        x = self.linear(x)
        return {name: head(x) for name, head in self.last.items()}


class EWC:
    def __init__(self, reg_coef):
        self.model = MLP()
        self.criterion_fn = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.params = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self.reg_terms, self.reg_coef = {}, reg_coef

    def criterion(self, preds, targets, task, regularization=True):
        loss = self.criterion_fn(preds[task], targets)
        if regularization:
            for term in self.reg_terms.values():
                loss = loss + self.reg_coef * sum((term['importance'][n] * (p - term['task_param'][n]) ** 2).sum()
                                                  for n, p in self.params.items())
        return loss

    def learn_batch(self, loader, task):
        self.model.train()
        for x, y in loader:
            loss = self.criterion(self.model(x), y, task)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        importance = self.calculate_importance(loader[:20], task)
        task_param = {n: p.clone().detach() for n, p in self.params.items()}
        self.reg_terms[task] = {'importance': importance, 'task_param': task_param}

    def calculate_importance(self, loader, task):
        importance = {n: torch.zeros_like(p) for n, p in self.params.items()}
        self.model.eval()
        for x, _ in loader:
            preds = self.model(x)
            ind = preds[task].max(1)[1].flatten()  # the class with the largest score, not the label
            loss = self.criterion(preds, ind, task, regularization=False)
            self.model.zero_grad()
            loss.backward()
            for n, p in importance.items():
                if self.params[n].grad is not None:  # the other head has none
                    p += self.params[n].grad ** 2 * len(x) / len(loader)
        self.model.train()
        return importance

    @torch.no_grad()
    def accuracy(self, x, y, task):
        self.model.eval()
        return (self.model(x)[task].argmax(1) == y).float().mean().item()


# %%
centers = {'1': torch.randn(4, 40), '2': torch.randn(4, 40)}


def draw(task, n):
    y = torch.randint(0, 4, (n,))
    return centers[task][y] + 1.0 * torch.randn(n, 40), y


agent = EWC(reg_coef=100.)
agent.learn_batch([draw('1', 32) for _ in range(80)], '1')
test_x, test_y = draw('1', 400)
acc_before = agent.accuracy(test_x, test_y, '1')

# %%
agent.learn_batch([draw('2', 32) for _ in range(120)], '2')
acc_first = agent.accuracy(test_x, test_y, '1')
acc_second = agent.accuracy(*draw('2', 400), '2')
fisher = agent.reg_terms['1']['importance']
print(acc_before, acc_first, acc_second)
assert acc_first > 0.85 and acc_second > 0.85
assert fisher['linear.0.weight'].sum() > 0 and not fisher['last.2.weight'].any()
