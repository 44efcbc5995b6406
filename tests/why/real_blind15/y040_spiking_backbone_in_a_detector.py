# https://github.com/fangwei123456/Spike-Element-Wise-ResNet/issues/19
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        ctx.save_for_backward(h)
        return (h > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (h,) = ctx.saved_tensors
        sigmoid = torch.sigmoid(4.0 * h)
        return grad * 4.0 * sigmoid * (1 - sigmoid)


class MultiStepIFNode(nn.Module):
    def __init__(self, v_threshold=1.0):
        super().__init__()
        self.v_threshold = v_threshold
        self.v = 0.0

    def reset(self):
        self.v = 0.0

    def forward(self, x_seq):
        spike_seq = []
        for x in x_seq:
            h = self.v + x
            spike = Spike.apply(h - self.v_threshold)
            self.v = h * (1 - spike.detach())
            spike_seq.append(spike)
        return torch.stack(spike_seq)


class SEWResNet(nn.Module):
    def __init__(self, channels=6, classes=3, T=4):
        super().__init__()
        self.T = T
        self.conv1, self.sn1 = nn.Conv2d(1, channels, 3, padding=1), MultiStepIFNode()
        self.conv2, self.sn2 = nn.Conv2d(channels, channels, 3, padding=1), MultiStepIFNode()
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x_seq = self.conv1(x).unsqueeze(0).repeat(self.T, 1, 1, 1, 1)
        x_seq = self.sn1(x_seq)
        y_seq = torch.stack([self.conv2(x) for x in x_seq])
        out = self.sn2(y_seq) + x_seq
        return self.fc(out.mean(dim=(0, 3, 4)))


def reset_net(net):
    for m in net.modules():
        if hasattr(m, "reset"):
            m.reset()


def fit_one_epoch(model_train, optimizer, gen):
    loss_sum = 0
    for iteration, (images, targets) in enumerate(gen):
        optimizer.zero_grad()
        outputs = model_train(images)
        loss_value = F.cross_entropy(outputs, targets)
        loss_value.backward()
        optimizer.step()
        loss_sum += loss_value.item()
    return loss_sum / (iteration + 1)


# %%
model = SEWResNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
gen = [(torch.rand(8, 1, 8, 8), torch.randint(0, 3, (8,))) for _ in range(6)]
for epoch in range(2):
    print(epoch, fit_one_epoch(model, optimizer, gen))
