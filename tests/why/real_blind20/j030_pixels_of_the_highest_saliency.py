# https://github.com/pytorch/pytorch/issues/106556
import torch
import torch.nn as nn

torch.manual_seed(0)


class Saliency:
    def __init__(self, forward_func):
        self.forward_func = forward_func

    def attribute(self, inputs, target, abs=True):
        inputs.requires_grad_()
        with torch.autograd.set_grad_enabled(True):
            outputs = self.forward_func(inputs)
            selected = outputs[:, target]
            gradients = torch.autograd.grad(torch.unbind(selected), inputs)[0]
        if abs:
            return torch.abs(gradients)
        return gradients


class Fire(nn.Module):
    def __init__(self, inplanes, squeeze_planes, expand_planes):
        super().__init__()
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand_planes, kernel_size=1)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand_planes, kernel_size=3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.expand1x1(x)), torch.relu(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, kernel_size=3, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2),
                                      Fire(16, 8, 16), Fire(32, 8, 16))
        self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Conv2d(32, num_classes, kernel_size=1), nn.ReLU(),
                                        nn.AdaptiveAvgPool2d((1, 1)))

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


# %%
model = SqueezeNet()
model.eval()

sal = Saliency(model)

X, y = torch.rand(3, 57, 57), 3
original_label = y
test_image = X.reshape([1, 3, 57, 57]).float()

# I need gradient w.r.t. this test_image
test_image.requires_grad = True
test_image.retain_grad()

# %%
# Calculate saliency
attribution = sal.attribute(test_image, target=original_label)
attribution = torch.sum(torch.abs(attribution[0]), dim=0)
attribution = 57 * 57 * attribution / torch.sum(attribution)
attribution = attribution.view(-1)
elem1 = torch.argsort(attribution)[-100:]
elements1 = torch.zeros(57 * 57)
elements1[elem1] = 1

# %%
# I need gradient of topK_loss w.r.t. test_image
topK_loss = torch.sum(attribution * elements1)
topK_loss.requires_grad = True
topK_loss.retain_grad()
gradients = -torch.autograd.grad(outputs=topK_loss, inputs=test_image, allow_unused=True)[0]
print(gradients.shape)
