# https://github.com/BorealisAI/advertorch/issues/79
import torch
import torch.nn as nn
import torch.nn.functional as F


def perturb_iterative(xvar, yvar, predict, nb_iter, eps, eps_iter, loss_fn, delta_init, l1_sparsity=None):
    delta = delta_init
    delta.requires_grad_()
    for ii in range(nb_iter):
        outputs = predict(xvar + delta)
        loss = loss_fn(outputs, yvar)
        loss.backward()
        grad_sign = delta.grad.data.sign()
        delta.data = delta.data + eps_iter * grad_sign
        delta.data = torch.clamp(delta.data, -eps, eps)
        delta.data = torch.clamp(xvar.data + delta.data, 0., 1.) - xvar.data
        delta.grad.data.zero_()
    return torch.clamp(xvar + delta, 0., 1.)


class LinfPGDAttack:
    def __init__(self, predict, loss_fn=None, eps=0.3, nb_iter=5, eps_iter=0.05):
        self.predict, self.eps, self.nb_iter, self.eps_iter = predict, eps, nb_iter, eps_iter
        self.loss_fn = loss_fn or nn.CrossEntropyLoss(reduction="sum")

    def perturb(self, x, y):
        x = x.detach().clone()
        delta = torch.zeros_like(x)
        delta.data.uniform_(-self.eps, self.eps)
        rval = perturb_iterative(x, y, self.predict, nb_iter=self.nb_iter, eps=self.eps,
                                 eps_iter=self.eps_iter, loss_fn=self.loss_fn, delta_init=delta)
        return rval.data


# %%
net = nn.Sequential(nn.Flatten(), nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
adversary = LinfPGDAttack(net)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
trainloader = [(torch.rand(8, 1, 4, 4), torch.randint(4, (8,))) for _ in range(3)]
testloader = [(torch.rand(8, 1, 4, 4), torch.randint(4, (8,))) for _ in range(2)]


def train(epoch):
    net.train()
    for batch_idx, (inputs, targets) in enumerate(trainloader):
        inputs = adversary.perturb(inputs, targets)
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()


train(0)  # adversarial training works

# %%
net.eval()
test_loss, correct, total = 0, 0, 0
with torch.no_grad():
    for batch_idx, (inputs, targets) in enumerate(testloader):
        adv_untargeted = adversary.perturb(inputs, targets)
        inputs = adv_untargeted

        outputs = net(inputs)
        test_loss += criterion(outputs, targets).item()
        correct += outputs.argmax(1).eq(targets).sum().item()
        total += targets.size(0)
print('Loss: %.3f | Acc: %.3f%%' % (test_loss, 100. * correct / total))
