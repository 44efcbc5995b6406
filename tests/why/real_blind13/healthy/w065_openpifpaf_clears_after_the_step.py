# https://github.com/openpifpaf/openpifpaf/issues/123
import copy
import torch

torch.manual_seed(0)


class FieldNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base_net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3, padding=1))
        self.confidence = torch.nn.Conv2d(16, 1, 1)
        self.offsets = torch.nn.Conv2d(16, 2, 1)

    def forward(self, x):
        x = torch.relu(self.base_net(x))
        return self.confidence(x), self.offsets(x)


class Loss(torch.nn.Module):
    def forward(self, heads, targets):
        confidence, offsets = heads
        conf_target, off_target = targets
        bce = torch.nn.functional.binary_cross_entropy_with_logits(confidence, conf_target)
        mask = conf_target.expand_as(offsets) > 0.5
        reg = torch.nn.functional.l1_loss(offsets[mask], off_target[mask])
        return bce + reg, [bce.item(), reg.item()]


class Trainer:
    def __init__(self, model, loss, optimizer, stride_apply=2, ema_decay=0.05):
        self.model, self.loss, self.optimizer = model, loss, optimizer
        self.stride_apply, self.ema_decay = stride_apply, ema_decay
        self.ema = copy.deepcopy([p.data for p in model.parameters()])

    def step_ema(self):
        for p, ema_p in zip(self.model.parameters(), self.ema):
            ema_p.mul_(1 - self.ema_decay).add_(p.data, alpha=self.ema_decay)

    def train_batch(self, data, targets, apply_gradients=True):
        outputs = self.model(data)
        loss, head_losses = self.loss(outputs, targets)
        loss.backward()
        if apply_gradients:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.step_ema()
        return loss.item(), head_losses

    def train(self, batches):
        self.model.train()
        self.optimizer.zero_grad()
        history = []
        for batch_idx, (data, targets) in enumerate(batches):
            apply_gradients = batch_idx % self.stride_apply == self.stride_apply - 1
            loss, _ = self.train_batch(data, targets, apply_gradients)
            history.append(loss)
        return history


def draw(n=8, side=12):
    data = 0.2 * torch.randn(n, 3, side, side)
    conf = torch.zeros(n, 1, side, side)
    off = torch.zeros(n, 2, side, side)
    for i in range(n):
        y, x = torch.randint(1, side - 1, (2,)).tolist()
        data[i, :, y, x] += 2.
        conf[i, 0, y - 1:y + 2, x - 1:x + 2] = 1
        steps = torch.tensor([1., 0., -1.])
        off[i, 0, y - 1:y + 2, x - 1:x + 2] = steps[None, :]
        off[i, 1, y - 1:y + 2, x - 1:x + 2] = steps[:, None]
    return data, (conf, off)


# %%
model = FieldNet()
first_weight = model.base_net[0].weight.detach().clone()
trainer = Trainer(model, Loss(), torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True))
history = trainer.train([draw() for _ in range(200)])
print(history[0], history[-1])
assert sum(history[-10:]) < 0.6 * sum(history[:10])
assert not torch.equal(first_weight, model.base_net[0].weight)

# %%
# one more half of a step, then its other half: the two batches add up
halves = [draw(), draw()]
alone = []
for data, targets in halves:
    loss, _ = Loss()(model(data), targets)
    alone.append(torch.autograd.grad(loss, model.confidence.weight)[0])
for data, targets in halves:
    trainer.train_batch(data, targets, apply_gradients=False)
assert torch.allclose(model.confidence.weight.grad, alone[0] + alone[1], atol=1e-6)
