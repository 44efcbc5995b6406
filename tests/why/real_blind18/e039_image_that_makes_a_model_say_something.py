# https://github.com/haotian-liu/LLaVA/issues/305
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CLIPVisionModel(nn.Module):
    def __init__(self, hidden_size=32, patch_size=4, num_layers=2):
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, hidden_size, patch_size, stride=patch_size, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(hidden_size) * 0.02)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden_size, 4, 64, dropout=0.0, batch_first=True) for _ in range(num_layers))

    def forward(self, pixel_values):
        patches = self.patch_embedding(pixel_values).flatten(2).transpose(1, 2)
        hidden = torch.cat([self.class_embedding.expand(len(patches), 1, -1), patches], dim=1)
        hidden_states = [hidden]
        for layer in self.layers:
            hidden_states.append(layer(hidden_states[-1]))
        return SimpleNamespace(hidden_states=hidden_states)


class CLIPVisionTower(nn.Module):
    def __init__(self, select_layer=-2):
        super().__init__()
        self.select_layer = select_layer
        self.vision_tower = CLIPVisionModel()
        self.vision_tower.requires_grad_(False)

    def feature_select(self, outputs):
        """The patches of one of the last layers, without the class token."""
        return outputs.hidden_states[self.select_layer][:, 1:]

    @torch.no_grad()
    def forward(self, images):
        if isinstance(images, list):
            return [self.feature_select(self.vision_tower(image[None])) for image in images]
        return self.feature_select(self.vision_tower(images))


class LlavaLlamaForCausalLM(nn.Module):
    def __init__(self, vocab_size=50, hidden_size=48):
        super().__init__()
        self.vision_tower = CLIPVisionTower()
        self.mm_projector = nn.Linear(32, hidden_size)
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.layer = nn.TransformerEncoderLayer(hidden_size, 4, 96, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)

    def encode_images(self, images):
        return self.mm_projector(self.vision_tower(images))

    def forward(self, input_ids, images, labels):
        inputs_embeds = torch.cat([self.encode_images(images), self.embed_tokens(input_ids)], dim=1)
        mask = nn.Transformer.generate_square_subsequent_mask(inputs_embeds.size(1))
        logits = self.lm_head(self.layer(inputs_embeds, src_mask=mask))
        logits = logits[:, -labels.size(1) - 1:-1]
        return SimpleNamespace(loss=F.cross_entropy(logits.flatten(0, 1), labels.flatten()), logits=logits)


# %%
model = LlavaLlamaForCausalLM()
model.eval()
prompt = torch.randint(0, 50, (1, 6))
target = torch.randint(0, 50, (1, 4))

image = torch.rand(1, 3, 16, 16, requires_grad=True)
start = image.detach().clone()
optimizer = torch.optim.Adam([image], lr=0.05)
for step in range(10):
    optimizer.zero_grad()
    loss = model(torch.cat([prompt, target], dim=1), image, labels=target).loss
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(0, 1)
    print(step, loss.item())
