# https://github.com/lingeringlight/DomainDrop/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd, reverse=True):
        ctx.lambd = lambd
        ctx.reverse = reverse
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        factor = -ctx.lambd if ctx.reverse else ctx.lambd
        return grad_output * factor, None, None


class LayerDiscriminator(nn.Module):
    def __init__(self, num_channels, num_domains, lambd=0.25):
        super().__init__()
        self.model = nn.Linear(num_channels, num_domains)
        self.lambd = lambd

    def get_scores(self, feature, labels, percent):
        # a 0-1 mask of the channels that tell the domain
        weights = self.model.weight.clone().detach()
        scores = feature.mean((2, 3)) * weights[labels]
        threshold = scores.quantile(1 - percent, dim=1, keepdim=True)
        return (scores < threshold).float()[:, :, None, None]

    def forward(self, x, labels, percent=0.33):
        x = GradReverse.apply(x, self.lambd)
        feature = x.clone().detach()
        y = self.model(x.mean((2, 3)))
        return y, self.get_scores(feature, labels, percent)


class DomainNet(nn.Module):
    def __init__(self, num_classes=3, num_domains=2):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU())
        self.domain_discriminator = LayerDiscriminator(24, num_domains)
        self.layer2 = nn.Sequential(nn.Conv2d(24, 24, 3, padding=1), nn.ReLU())
        self.class_classifier = nn.Linear(24, num_classes)

    def forward(self, x, domains):
        x = self.layer1(x)
        domain_logit, mask = self.domain_discriminator(x, domains)
        if self.training:
            x = x * mask * mask.numel() / mask.sum()
        x = self.layer2(x).mean((2, 3))
        return self.class_classifier(x), domain_logit


# %%
model = DomainNet()
optimizer = torch.optim.SGD([{'params': [p for n, p in model.named_parameters() if 'discriminator' not in n]},
                             {'params': model.domain_discriminator.parameters(), 'lr': 0.1}], lr=0.05, momentum=0.9)
class_color, domain_color = 2 * torch.randn(3, 3), torch.randn(2, 3)

# %%
class_losses = []
for it in range(100):
    labels, domains = torch.randint(0, 3, (32,)), torch.randint(0, 2, (32,))
    images = (class_color[labels] + domain_color[domains])[:, :, None, None] + 0.3 * torch.randn(32, 3, 6, 6)
    class_logit, domain_logit = model(images, domains)
    class_loss = F.cross_entropy(class_logit, labels)
    domain_loss = F.cross_entropy(domain_logit, domains)
    loss = class_loss + domain_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    class_losses.append(class_loss.item())
print(class_losses[0], class_losses[-1], domain_loss.item())
assert sum(class_losses[-10:]) < 0.7 * sum(class_losses[:10])

# %%
# a quarter of the gradient comes back, with its sign turned; the discriminator's own is as it should be
features = torch.rand(8, 24, 6, 6, requires_grad=True)
doms = torch.randint(0, 2, (8,))
reversed_ = torch.autograd.grad(F.cross_entropy(model.domain_discriminator(features, doms)[0], doms), features)[0]
straight = torch.autograd.grad(F.cross_entropy(model.domain_discriminator.model(features.mean((2, 3))), doms), features)[0]
assert torch.allclose(reversed_, -0.25 * straight)
