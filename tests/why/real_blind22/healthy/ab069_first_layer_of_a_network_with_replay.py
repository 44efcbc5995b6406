# https://github.com/aimagelab/mammoth/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MNISTMLP(nn.Module):
    def __init__(self, input_size, output_size):
        super().__init__()
        self.fc1 = nn.Linear(input_size, 32)
        self.fc2 = nn.Linear(32, 32)
        self._features = nn.Sequential(self.fc1, nn.ReLU(), self.fc2, nn.ReLU())
        self.classifier = nn.Linear(32, output_size)
        self.net = nn.Sequential(self._features, self.classifier)

    def forward(self, x):
        return self.net(x.view(x.shape[0], -1))


class Buffer:
    def __init__(self, buffer_size):
        self.buffer_size, self.examples, self.logits, self.seen = buffer_size, [], [], 0

    def is_empty(self):
        return not self.examples

    def add_data(self, examples, logits):
        for example, logit in zip(examples, logits):
            if len(self.examples) < self.buffer_size:
                self.examples.append(example)
                self.logits.append(logit)
            else:
                place = torch.randint(0, self.seen + 1, (1,)).item()
                if place < self.buffer_size:
                    self.examples[place], self.logits[place] = example, logit
            self.seen += 1

    def get_data(self, size):
        choice = torch.randperm(len(self.examples))[:size]
        return torch.stack([self.examples[i] for i in choice]), torch.stack([self.logits[i] for i in choice])


def make_task(classes, n=96, side=12):
    labels = classes[torch.randint(0, len(classes), (n,))]
    images = torch.zeros(n, 1, side, side)
    images[:, 0, 3:9, 3:9] = strokes[labels] * (0.7 + 0.3 * torch.rand(n, 6, 6))
    return images, labels


# %%
strokes = (torch.rand(6, 6, 6) > 0.5).float()
tasks = [make_task(torch.tensor(c)) for c in ([0, 1], [2, 3], [4, 5])]
model = MNISTMLP(144, 6)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
buffer, alpha, minibatch_size = Buffer(60), 0.3, 16

# %%
for number, (images, labels) in enumerate(tasks):
    for epoch in range(4):
        for inputs, targets in zip(images.split(16), labels.split(16)):
            opt.zero_grad()
            outputs = model(inputs)
            loss = F.cross_entropy(outputs, targets)
            if not buffer.is_empty():
                buf_inputs, buf_logits = buffer.get_data(minibatch_size)
                loss = loss + alpha * F.mse_loss(model(buf_inputs), buf_logits)
            loss.backward()
            opt.step()
            buffer.add_data(inputs, outputs.data)
    print(number, model.fc1.weight.grad)

# %%
border = torch.ones(12, 12, dtype=torch.bool)
border[3:9, 3:9] = False
grad = model.fc1.weight.grad.view(32, 12, 12)
accuracy = (model(tasks[-1][0]).argmax(1) == tasks[-1][1]).float().mean().item()
print(grad[:, border].abs().max().item(), grad[:, ~border].abs().max().item(), accuracy)
