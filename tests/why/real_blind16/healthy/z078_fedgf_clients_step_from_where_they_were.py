# https://github.com/hwan-sig/Official-FedGF/issues/1
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SAM:
    def __init__(self, optimizer, model, rho):
        self.optimizer, self.model, self.rho = optimizer, model, rho
        self.eps = {}

    @torch.no_grad()
    def ascent_step(self):
        grads = [p.grad.norm(p=2) for p in self.model.parameters() if p.grad is not None]
        grad_norm = torch.stack(grads).norm(p=2) + 1e-12
        for n, p in self.model.named_parameters():
            if p.grad is None:
                continue
            if n not in self.eps:
                self.eps[n] = torch.clone(p).detach()
            eps = self.eps[n]
            eps[...] = p.grad[...]
            eps.mul_(self.rho / grad_norm)  # in place: what is kept is the perturbation itself
            p.add_(eps)
        self.optimizer.zero_grad()

    @torch.no_grad()
    def descent_step(self):
        for n, p in self.model.named_parameters():
            if p.grad is None:
                continue
            p.sub_(self.eps[n])
        self.before_step = [p.clone() for p in self.model.parameters()]
        self.optimizer.step()
        self.optimizer.zero_grad()


class MLP(nn.Module):
    def __init__(self, d_in=10, classes=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x):
        return self.net(x)


middles = 1.3 * torch.randn(5, 10)


def draw(n, share):
    y = torch.multinomial(share, n, replacement=True)
    return middles[y] + 0.8 * torch.randn(n, 10), y


class Client:
    def __init__(self, share):
        self.x, self.y = draw(256, share)
        self.errors, self.distances = [], []

    def client_update(self, global_model, epochs=2):
        model = copy.deepcopy(global_model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.0, weight_decay=1e-4)
        minimizer = SAM(optimizer, model, rho=0.1)
        for _ in range(epochs):
            for index in torch.randperm(len(self.x)).split(64):
                x, y = self.x[index], self.y[index]
                started = [p.detach().clone() for p in model.parameters()]
                F.cross_entropy(model(x), y).backward()
                minimizer.ascent_step()
                moved = [(p - s).norm() for p, s in zip(model.parameters(), started)]
                self.distances.append(torch.stack(moved).norm().item())
                F.cross_entropy(model(x), y).backward()
                minimizer.descent_step()
                self.errors.append(max((a - b).abs().max().item() for a, b in zip(started, minimizer.before_step)))
        return model.state_dict()


# %%
shares = [torch.full((5,), 0.05) + 0.75 * torch.eye(5)[k] for k in range(5)]
clients = [Client(share) for share in shares]
server = MLP()
x_test, y_test = draw(1000, torch.ones(5))
accuracies = []

# %%
for communication in range(15):
    states = [client.client_update(server) for client in clients]
    server.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    with torch.no_grad():
        accuracies.append((server(x_test).argmax(1) == y_test).float().mean().item())

# %%
errors = [e for client in clients for e in client.errors]
distances = [d for client in clients for d in client.distances]
print(accuracies, max(errors), min(distances), max(distances))
assert max(errors) < 1e-6
assert all(abs(d - 0.1) < 1e-3 for d in distances)
assert accuracies[-1] > 0.85 and accuracies[-1] > accuracies[0]
