# https://github.com/ilia10000/dataset-distillation/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(16, 24), nn.Linear(24, 2)

    def forward_with_params(self, x, params):
        w1, b1, w2, b2 = params
        return F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)


class Trainer:
    def __init__(self, model, num_classes=2):
        self.model = model
        self.data = torch.randn(num_classes, 16, requires_grad=True)
        self.labels = torch.eye(num_classes).requires_grad_()
        self.lr = torch.tensor(0.1, requires_grad=True)

    def forward(self, rdata, rlabel):
        params = [p.detach().clone().requires_grad_() for p in self.model.parameters()]
        out = self.model.forward_with_params(self.data, params)
        loss = -(F.log_softmax(out, dim=1) * self.labels).sum(1).mean()
        grads = torch.autograd.grad(loss, params, create_graph=True)
        params = [p - self.lr * g for p, g in zip(params, grads)]
        return F.cross_entropy(self.model.forward_with_params(rdata, params), rlabel)

    def backward(self, final_loss):
        datas, labels, lr = torch.autograd.grad(final_loss, (self.data, -self.labels, self.lr))
        self.data.grad, self.labels.grad, self.lr.grad = datas, labels, lr


trainer = Trainer(LeNet())
optimizer = torch.optim.Adam([trainer.data, trainer.labels, trainer.lr], lr=0.01)

# %%
for it in range(3):
    rdata, rlabel = torch.randn(32, 16), torch.randint(0, 2, (32,))
    optimizer.zero_grad()
    final_loss = trainer.forward(rdata, rlabel)
    trainer.backward(final_loss)
    optimizer.step()
