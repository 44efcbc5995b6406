# https://github.com/AoiDragon/HADES/issues/10
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F


class CLIPVisionModel(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, d, kernel_size=4, stride=4)
        self.layers = nn.ModuleList(nn.Linear(d, d) for _ in range(3))

    def forward(self, pixel_values, output_hidden_states=True):
        h = self.patch_embedding(pixel_values).flatten(2).transpose(1, 2)
        h = torch.cat([h.mean(1, keepdim=True), h], 1)
        hidden_states = [h]
        for layer in self.layers:
            h = h + torch.tanh(layer(h))
            hidden_states.append(h)
        return SimpleNamespace(hidden_states=hidden_states)


class CLIPVisionTower(nn.Module):
    def __init__(self, select_layer=-2):
        super().__init__()
        self.select_layer = select_layer
        self.vision_tower = CLIPVisionModel()
        self.vision_tower.requires_grad_(False)

    def feature_select(self, image_forward_outs):
        return image_forward_outs.hidden_states[self.select_layer][:, 1:]

    @torch.no_grad()
    def forward(self, images):
        image_forward_outs = self.vision_tower(images, output_hidden_states=True)
        return self.feature_select(image_forward_outs).to(images.dtype)


class LlavaLlamaForCausalLM(nn.Module):
    def __init__(self, vocab=30, d=12):
        super().__init__()
        self.vision_tower = CLIPVisionTower()
        self.mm_projector = nn.Linear(8, d)
        self.embed_tokens = nn.Embedding(vocab, d)
        self.layer = nn.TransformerEncoderLayer(d, 2, 24, dropout=0., batch_first=True)
        self.lm_head = nn.Linear(d, vocab)

    def encode_images(self, images):
        return self.mm_projector(self.vision_tower(images))

    def forward(self, input_ids, images, labels):
        image_features = self.encode_images(images)
        h = torch.cat([image_features, self.embed_tokens(input_ids)], 1)
        logits = self.lm_head(self.layer(h))[:, image_features.shape[1]:]
        return SimpleNamespace(loss=F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()))


# %%
model = LlavaLlamaForCausalLM().eval()
alpha = 1 / 255
image = torch.rand(1, 3, 8, 8)
adv_noise = torch.rand_like(image)
adv_noise.requires_grad_(True)
input_ids = torch.randint(0, 30, (1, 6))

# %%
x_adv = (image + adv_noise).clamp(0, 1)
target_loss = model(input_ids, x_adv, input_ids).loss
target_loss.backward()
print(model.vision_tower(x_adv).requires_grad)
print(adv_noise.grad)
