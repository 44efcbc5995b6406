# https://pytorch.org/tutorials/advanced/neural_style_tutorial.html
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
cnn = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(inplace=False), nn.Conv2d(8, 8, 3, padding=1)).eval()
content_img, style_img = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12)


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


# we 'detach' the target content from the tree used to dynamically compute the gradient
content_target = cnn(content_img).detach()
style_target = gram_matrix(cnn(style_img)).detach()

# %%
input_img = content_img.clone()
# We want to optimize the input and not the model parameters
input_img.requires_grad_(True)
cnn.requires_grad_(False)
optimizer = optim.LBFGS([input_img])
before = input_img.detach().clone()

# %%
run = [0]
while run[0] <= 20:

    def closure():
        # correct the values of updated input image
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        features = cnn(input_img)
        style_score = F.mse_loss(gram_matrix(features), style_target) * 1000000
        content_score = F.mse_loss(features, content_target)
        loss = style_score + content_score
        loss.backward()
        run[0] += 1
        return loss

    last = optimizer.step(closure)
print(last.item())
