# https://github.com/motokimura/capsnet_pytorch/pull/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def squash(s, dim):
    # This is Eq.1 from the paper.
    mag_sq = torch.sum(s**2, dim=dim, keepdim=True)
    mag = torch.sqrt(mag_sq)
    return (mag_sq / (1.0 + mag_sq)) * (s / mag)


class PrimaryCaps(nn.Module):
    def __init__(self, units=4, capsule_size=8):
        super(PrimaryCaps, self).__init__()
        self.capsule_size = capsule_size
        self.conv = nn.Conv2d(16, units * capsule_size, 3, stride=2)

    def forward(self, x):
        u = self.conv(x)
        u = u.view(x.size(0), -1, self.capsule_size, u.size(2) * u.size(3))
        u = u.transpose(2, 3).reshape(x.size(0), -1, self.capsule_size)
        return squash(u, dim=2)


class DigitCaps(nn.Module):
    def __init__(self, routing_iters, in_capsules=64, in_capsule_size=8, out_capsules=10, out_capsule_size=16):
        super(DigitCaps, self).__init__()
        self.routing_iters = routing_iters
        self.in_capsules = in_capsules
        self.out_capsules = out_capsules
        self.W = nn.Parameter(torch.randn(in_capsules, out_capsules, out_capsule_size, in_capsule_size))

    def forward(self, x):
        # x: [batch_size, in_capsules, in_capsule_size]
        batch_size = x.size(0)
        x = torch.stack([x] * self.out_capsules, dim=2)
        W = torch.cat([self.W.unsqueeze(0)] * batch_size, dim=0)
        u_hat = torch.matmul(W, x.unsqueeze(4))
        # u_hat: [batch_size, in_capsules, out_capsules, out_capsule_size, 1]
        u_hat_detached = u_hat.detach()

        # Initialize routing logits to zero.
        b_ij = torch.zeros(self.in_capsules, self.out_capsules, 1)

        # Iterative routing.
        for iteration in range(self.routing_iters):
            # Convert routing logits to softmax.
            c_ij = F.softmax(b_ij.unsqueeze(0), dim=1)
            self.c_ij = c_ij
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)
            if iteration == self.routing_iters - 1:
                s_j = (c_ij * u_hat).sum(dim=1, keepdim=True)
                v_j = squash(s_j, dim=3)
            else:
                s_j = (c_ij * u_hat_detached).sum(dim=1, keepdim=True)
                v_j = squash(s_j, dim=3)
                # Update b_ij (routing).
                u_vj1 = torch.matmul(u_hat_detached.transpose(3, 4), v_j).squeeze(4).mean(dim=0, keepdim=False)
                b_ij = b_ij + u_vj1
        return v_j.squeeze(4).squeeze(1)


class CapsuleNetwork(nn.Module):
    def __init__(self, routing_iters=3):
        super(CapsuleNetwork, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU())
        self.primary_caps = PrimaryCaps()
        self.digit_caps = DigitCaps(routing_iters=routing_iters)

    def forward(self, x):
        return self.digit_caps(self.primary_caps(self.conv1(x)))

    def margin_loss(self, input, target):
        v_mag = torch.sqrt((input**2).sum(dim=2))
        max_l = torch.clamp(0.9 - v_mag, min=0)**2
        max_r = torch.clamp(v_mag - 0.1, min=0)**2
        # This is Eq.4 from the paper.
        L_c = target * max_l + 0.5 * (1.0 - target) * max_r
        return L_c.sum(dim=1).mean()


# %%
network = CapsuleNetwork()
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
digits = torch.rand(10, 1, 13, 13).round()

# %%
losses = []
for batch_idx in range(40):
    labels = torch.randint(0, 10, (16,))
    images = digits[labels] + 0.1 * torch.randn(16, 1, 13, 13)
    target = F.one_hot(labels, 10).float()
    output = network(images)
    loss = network.margin_loss(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if batch_idx % 10 == 0:
        print(batch_idx, loss.item())
