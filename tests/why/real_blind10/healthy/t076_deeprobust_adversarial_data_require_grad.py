# https://github.com/DSE-MSU/DeepRobust/issues/36
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1, 1)
        self.fc1 = nn.Linear(8 * 16, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.fc1(x.view(x.size(0), -1)))
        return self.fc2(x)


class PGDtraining:
    def __init__(self, model, epsilon=0.1, num_steps=4, perturb_step_size=0.05):
        self.model = model
        self.epsilon, self.num_steps, self.perturb_step_size = epsilon, num_steps, perturb_step_size

    def adv_data(self, data, target):
        imageArray = data.detach()
        X = imageArray + torch.empty_like(data).uniform_(-self.epsilon, self.epsilon)
        for i in range(self.num_steps):
            X = X.detach().clone().requires_grad_()
            loss = F.cross_entropy(self.model(X), target)
            grad = torch.autograd.grad(loss, X)[0]
            X = X + self.perturb_step_size * grad.sign()
            X = torch.min(torch.max(X, imageArray - self.epsilon), imageArray + self.epsilon).clamp(0, 1)
        output = self.model(X)
        return X, output

    def train(self, train_loader, optimizer, epoch):
        self.model.train()
        for batch_idx, (data, target) in enumerate(train_loader):
            optimizer.zero_grad()
            data_adv, output = self.adv_data(data, target)
            loss = F.cross_entropy(output, target)
            loss.backward()
            optimizer.step()
            if batch_idx % 2 == 0:
                pred = output.argmax(dim=1, keepdim=True)
                print(epoch, loss.item(), pred.eq(target.view_as(pred)).sum().item(), data_adv.requires_grad)
        return loss


# %%
target = torch.randint(0, 4, (64,))
data = (torch.rand(64, 1, 8, 8) * 0.3 + 0.2 * target[:, None, None, None]).clamp(0, 1)
train_loader = [(data[i:i + 16], target[i:i + 16]) for i in range(0, 64, 16)]
defense = PGDtraining(Net())
optimizer = optim.SGD(defense.model.parameters(), 0.1, momentum=0.9)
for epoch in range(3):
    loss = defense.train(train_loader, optimizer, epoch)
