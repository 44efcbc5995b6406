# https://github.com/ngxbac/GAIN/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GAIN(nn.Module):
    def __init__(self, num_classes=2):
        super(GAIN, self).__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
        self.classifier = nn.Linear(16, num_classes)
        self.feed_forward_features = None
        self.backward_features = None
        self.omega, self.sigma = 100, 0.5
        self.features[-2].register_forward_hook(self._forward_hook)

    def _forward_hook(self, module, input, output):
        self.feed_forward_features = output
        output.register_hook(self._backward_hook)

    def _backward_hook(self, grad):
        self.backward_features = grad

    def _to_ohe(self, labels):
        return F.one_hot(labels, 2).float()

    def forward(self, images, labels):
        logits = self.classifier(self.features(images).mean((2, 3)))
        labels_ohe = self._to_ohe(labels)
        gradient = logits * labels_ohe
        grad_logits = (logits * labels_ohe).sum()
        grad_logits.backward(gradient=gradient, retain_graph=True)
        self.zero_grad()

        weights = F.adaptive_avg_pool2d(self.backward_features, 1)
        A_c = F.relu((weights * self.feed_forward_features).sum(1, keepdim=True))
        A_c = F.interpolate(A_c, size=images.size()[2:], mode='bilinear')
        mask = torch.sigmoid(self.omega * (A_c / (A_c.max() + 1e-6) - self.sigma))
        masked_image = images - images * mask
        logits_am = self.classifier(self.features(masked_image).mean((2, 3)))
        return logits, logits_am


# %%
gain = GAIN()
optimizer = torch.optim.Adam(gain.parameters(), lr=1e-4)

# %%
images, labels = torch.rand(10, 3, 16, 16), torch.randint(0, 2, (10,))
optimizer.zero_grad()
logits, logits_am = gain(images, labels)
loss = F.cross_entropy(logits, labels) + torch.sigmoid(logits_am).gather(1, labels[:, None]).mean()
loss.backward()
optimizer.step()
print(loss.item())
