# https://github.com/rinongal/StyleGAN-nada/issues/58
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

    def forward(self, tensor):
        return tensor.clone().sub_(self.mean).div_(self.std)


class Resize(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, img):
        return F.interpolate(img, size=self.size, mode='bicubic', align_corners=False)


class CenterCrop(Resize):
    def forward(self, img):
        top, left = (img.shape[-2] - self.size) // 2, (img.shape[-1] - self.size) // 2
        return img[..., top:top + self.size, left:left + self.size]


class CLIPLoss(nn.Module):
    def __init__(self, clip_model, text_encoder):
        super().__init__()
        self.model, self.text_encoder = clip_model, text_encoder
        self.preprocess = nn.Sequential(
            Normalize([-1.0, -1.0, -1.0], [2.0, 2.0, 2.0]),  # Un-normalize from [-1, 1]
            Resize(8), CenterCrop(8), Normalize([0.48, 0.46, 0.41], [0.27, 0.26, 0.28]))
        self.target_direction = None

    def get_image_features(self, img):
        image_features = self.model(self.preprocess(img))
        image_features /= image_features.clone().norm(dim=-1, keepdim=True)
        return image_features

    def compute_text_direction(self, source_class, target_class):
        direction = (self.text_encoder(target_class) - self.text_encoder(source_class)).detach()
        return direction / direction.norm(dim=-1, keepdim=True)

    def forward(self, src_img, source_class, target_img, target_class):
        if self.target_direction is None:
            self.target_direction = self.compute_text_direction(source_class, target_class)
        edit_direction = self.get_image_features(target_img) - self.get_image_features(src_img)
        edit_direction /= (edit_direction.clone().norm(dim=-1, keepdim=True) + 1e-6)
        return (1. - F.cosine_similarity(edit_direction, self.target_direction)).mean()


# %%
clip_image = nn.Sequential(nn.Conv2d(3, 6, 4, stride=4), nn.Tanh(), nn.Flatten(), nn.Linear(24, 10))
clip_text = nn.Embedding(5, 10)
clip_image.requires_grad_(False)
generator_frozen = nn.Sequential(nn.Linear(4, 3 * 12 * 12), nn.Unflatten(1, (3, 12, 12)), nn.Tanh())
generator_train = copy.deepcopy(generator_frozen)
with torch.no_grad():
    generator_train[0].weight.add_(0.01 * torch.randn_like(generator_train[0].weight))
clip_loss = CLIPLoss(clip_image, clip_text)
g_optim = torch.optim.Adam(generator_train.parameters(), lr=0.002)

# %%
w_styles = torch.randn(2, 4)
with torch.no_grad():
    frozen_img = generator_frozen(w_styles)
trainable_img = generator_train(w_styles)
loss = clip_loss(frozen_img, torch.tensor([0]), trainable_img, torch.tensor([3]))
g_optim.zero_grad()
loss.backward()
g_optim.step()
# torchvision's transforms are "not passing gradient"?
print(generator_train[0].weight.grad)
