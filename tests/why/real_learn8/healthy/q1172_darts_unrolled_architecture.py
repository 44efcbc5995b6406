# https://github.com/quark0/darts/blob/master/cnn/architect.py
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self, C=8, num_classes=4):
        super().__init__()
        self.stem, self.classifier = nn.Linear(6, C), nn.Linear(C, num_classes)
        self._ops = nn.ModuleList(
            [nn.Linear(C, C), nn.Sequential(nn.Linear(C, C), nn.ReLU()), nn.Identity()]
        )
        self._criterion = nn.CrossEntropyLoss()
        self.alphas_normal = (1e-3 * torch.randn(1, 3)).requires_grad_()
        self._arch_parameters = [self.alphas_normal]

    def new(self):
        model_new = Network()
        for x, y in zip(model_new.arch_parameters(), self.arch_parameters()):
            x.data.copy_(y.data)
        return model_new

    def forward(self, input):
        s = self.stem(input)
        weights = F.softmax(self.alphas_normal, dim=-1)[0]
        return self.classifier(sum(w * op(s) for w, op in zip(weights, self._ops)))

    def _loss(self, input, target):
        return self._criterion(self(input), target)

    def arch_parameters(self):
        return self._arch_parameters


def _concat(xs):
    return torch.cat([x.view(-1) for x in xs])


class Architect:
    def __init__(self, model, momentum=0.9, weight_decay=3e-4):
        self.network_momentum, self.network_weight_decay, self.model = momentum, weight_decay, model
        self.optimizer = torch.optim.Adam(
            model.arch_parameters(), lr=3e-3, betas=(0.5, 0.999), weight_decay=1e-3
        )

    def _compute_unrolled_model(self, input, target, eta, network_optimizer):
        loss = self.model._loss(input, target)
        theta = _concat(self.model.parameters()).data
        try:
            moment = _concat(
                network_optimizer.state[v]["momentum_buffer"] for v in self.model.parameters()
            ).mul_(self.network_momentum)
        except Exception:
            moment = torch.zeros_like(theta)
        dtheta = (
            _concat(torch.autograd.grad(loss, self.model.parameters())).data
            + self.network_weight_decay * theta
        )
        return self._construct_model_from_theta(theta.sub(moment + dtheta, alpha=eta))

    def step(self, input_train, target_train, input_valid, target_valid, eta, network_optimizer):
        self.optimizer.zero_grad()
        self._backward_step_unrolled(
            input_train, target_train, input_valid, target_valid, eta, network_optimizer
        )
        self.optimizer.step()

    def _backward_step_unrolled(
        self, input_train, target_train, input_valid, target_valid, eta, network_optimizer
    ):
        unrolled_model = self._compute_unrolled_model(
            input_train, target_train, eta, network_optimizer
        )
        unrolled_loss = unrolled_model._loss(input_valid, target_valid)
        unrolled_loss.backward()
        dalpha = [v.grad for v in unrolled_model.arch_parameters()]
        vector = [v.grad.data for v in unrolled_model.parameters()]
        implicit_grads = self._hessian_vector_product(vector, input_train, target_train)
        for g, ig in zip(dalpha, implicit_grads):
            g.data.sub_(ig.data, alpha=eta)
        for v, g in zip(self.model.arch_parameters(), dalpha):
            if v.grad is None:
                v.grad = g.data
            else:
                v.grad.data.copy_(g.data)

    def _construct_model_from_theta(self, theta):
        model_new = self.model.new()
        model_dict, params, offset = self.model.state_dict(), {}, 0
        for k, v in self.model.named_parameters():
            v_length = v.numel()
            params[k] = theta[offset : offset + v_length].view(v.size())
            offset += v_length
        model_dict.update(params)
        model_new.load_state_dict(model_dict)
        return model_new

    def _hessian_vector_product(self, vector, input, target, r=1e-2):
        R = r / _concat(vector).norm()
        for p, v in zip(self.model.parameters(), vector):
            p.data.add_(v, alpha=R)
        grads_p = torch.autograd.grad(self.model._loss(input, target), self.model.arch_parameters())
        for p, v in zip(self.model.parameters(), vector):
            p.data.sub_(v, alpha=2 * R)
        grads_n = torch.autograd.grad(self.model._loss(input, target), self.model.arch_parameters())
        for p, v in zip(self.model.parameters(), vector):
            p.data.add_(v, alpha=R)
        return [(x - y).div_(2 * R) for x, y in zip(grads_p, grads_n)]


model = Network()
optimizer = torch.optim.SGD(model.parameters(), 0.025, momentum=0.9, weight_decay=3e-4)
architect = Architect(model)
before = model.alphas_normal.detach().clone()

# %%
for step in range(2):
    input, target = torch.randn(8, 6), torch.randint(0, 4, (8,))
    input_search, target_search = torch.randn(8, 6), torch.randint(0, 4, (8,))
    architect.step(input, target, input_search, target_search, 0.025, optimizer)
    optimizer.zero_grad()
    logits = model(input)
    loss = model._criterion(logits, target)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5)
    optimizer.step()
    print(loss.item(), F.softmax(model.alphas_normal, dim=-1))
