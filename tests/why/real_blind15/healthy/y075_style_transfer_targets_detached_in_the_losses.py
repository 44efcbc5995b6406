# https://fangdahan.medium.com/pytorch-style-transfer-tutorial-91e58d6b1055
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)
        self.std = torch.tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        # a stated value, not a variable
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


def get_style_model_and_losses(cnn, mean, std, style_img, content_img, content_layers=('conv_2',), style_layers=('conv_1', 'conv_2', 'conv_3')):
    cnn = copy.deepcopy(cnn)
    content_losses, style_losses = [], []
    model = nn.Sequential(Normalization(mean, std))
    i = 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = 'conv_{}'.format(i)
        else:
            name = 'relu_{}'.format(i)
            layer = nn.ReLU(inplace=False)
        model.add_module(name, layer)
        if name in content_layers:
            content_loss = ContentLoss(model(content_img))
            model.add_module('content_loss_{}'.format(i), content_loss)
            content_losses.append(content_loss)
        if name in style_layers:
            style_loss = StyleLoss(model(style_img))
            model.add_module('style_loss_{}'.format(i), style_loss)
            style_losses.append(style_loss)
    return model, style_losses, content_losses


# %%
cnn = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(inplace=True),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(inplace=True)
).eval()
axis = torch.linspace(0, 1, 24)
content_img = torch.stack([axis.expand(24, 24), axis.view(-1, 1).expand(24, 24), torch.full((24, 24), 0.5)]).unsqueeze(0)
style_img = torch.zeros(1, 3, 24, 24)
style_img[:, 0, :, ::4], style_img[:, 2, :, 2::4] = 1.0, 1.0

# %%
model, style_losses, content_losses = get_style_model_and_losses(
    cnn, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225], style_img, content_img
)
input_img = content_img.clone()
input_img.requires_grad_(True)
model.requires_grad_(False)
optimizer = torch.optim.LBFGS([input_img])
run, style_scores, content_scores = [0], [], []
while run[0] <= 100:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = sum(sl.loss for sl in style_losses) * 1e4
        content_score = sum(cl.loss for cl in content_losses)
        loss = style_score + content_score
        loss.backward()
        run[0] += 1
        style_scores.append(style_score.item())
        content_scores.append(content_score.item())
        return loss

    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)

# %%
print(style_scores[0], style_scores[-1], content_scores[-1])
assert all(p.grad is None for p in model.parameters())
assert not any(layer.target.requires_grad for layer in [*style_losses, *content_losses])
assert input_img.is_leaf and not torch.equal(input_img, content_img)
assert style_scores[-1] < 0.3 * style_scores[0]
