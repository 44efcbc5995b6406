# https://github.com/pytorch/tutorials/issues/123
import copy
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class ContentLoss(nn.Module):
    def __init__(self, target, weight):
        super(ContentLoss, self).__init__()
        self.target = target.detach() * weight
        self.weight = weight
        self.criterion = nn.MSELoss()

    def forward(self, input):
        self.loss = self.criterion(input * self.weight, self.target)
        self.output = input
        return self.output

    def backward(self, retain_graph=True):
        self.loss.backward(retain_graph=retain_graph)
        return self.loss


class GramMatrix(nn.Module):
    def forward(self, input):
        a, b, c, d = input.size()
        features = input.view(a * b, c * d)
        G = torch.mm(features, features.t())
        return G.div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target, weight):
        super(StyleLoss, self).__init__()
        self.target = target.detach() * weight
        self.weight = weight
        self.gram = GramMatrix()
        self.criterion = nn.MSELoss()

    def forward(self, input):
        self.output = input.clone()
        self.G = self.gram(input)
        self.G.mul_(self.weight)
        self.loss = self.criterion(self.G, self.target)
        return self.output

    def backward(self, retain_graph=True):
        self.loss.backward(retain_graph=retain_graph)
        return self.loss


def get_style_model_and_losses(cnn, style_img, content_img, style_weight=200, content_weight=1):
    cnn = copy.deepcopy(cnn)
    content_losses, style_losses = [], []
    model, gram = nn.Sequential(), GramMatrix()
    i = 1
    for layer in list(cnn):
        if isinstance(layer, nn.Conv2d):
            model.add_module("conv_" + str(i), layer)
            if i == 2:
                content_loss = ContentLoss(model(content_img).clone(), content_weight)
                model.add_module("content_loss_" + str(i), content_loss)
                content_losses.append(content_loss)
            style_loss = StyleLoss(gram(model(style_img).clone()), style_weight)
            model.add_module("style_loss_" + str(i), style_loss)
            style_losses.append(style_loss)
        if isinstance(layer, nn.ReLU):
            model.add_module("relu_" + str(i), layer)
            i += 1
    return model, style_losses, content_losses


# %%
cnn = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU())
yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing='ij')
content_img = (((yy - 8) ** 2 + (xx - 8) ** 2) < 25).float().expand(1, 3, 16, 16).contiguous()
style_img = torch.stack([torch.sin(xx) * 0.5 + 0.5, torch.cos(yy) * 0.5 + 0.5, 0 * xx + 0.2]).unsqueeze(0)
input_img = content_img.clone()
model, style_losses, content_losses = get_style_model_and_losses(cnn, style_img, content_img)
input_param = nn.Parameter(input_img.data)
optimizer = optim.LBFGS([input_param])

# %%
run, scores = [0], []
while run[0] <= 100:
    def closure():
        # correct the values of updated input image
        input_param.data.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_param)
        style_score = 0
        content_score = 0
        for sl in style_losses:
            style_score += sl.backward()
        for cl in content_losses:
            content_score += cl.backward()
        run[0] += 1
        scores.append((style_score.item(), content_score.item()))
        return style_score + content_score

    optimizer.step(closure)
input_param.data.clamp_(0, 1)

# %%
optimizer.zero_grad()
model(input_param)
total, = torch.autograd.grad(sum(l.loss for l in style_losses + content_losses), input_param, retain_graph=True)
for l in style_losses + content_losses:
    l.backward()
same = torch.allclose(total, input_param.grad, atol=1e-6)
style_now = sum(l.loss.item() for l in style_losses)
print(scores[0], scores[-1], style_now, same)
assert same and style_now < 0.3 * scores[0][0]
