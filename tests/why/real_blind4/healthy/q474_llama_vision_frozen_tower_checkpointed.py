# https://github.com/2U1/Llama3.2-Vision-Finetune/issues/27
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class VisionTower(nn.Module):
    def __init__(self, dim=12, layers=2):
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, dim, 4, 4)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True) for _ in range(layers)])
        self.gradient_checkpointing = False

    def forward(self, pixel_values):
        x = self.patch_embedding(pixel_values).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True) if self.gradient_checkpointing and self.training else layer(x)
        return x


class LanguageModel(nn.Module):
    def __init__(self, vocab=40, dim=12, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True) for _ in range(layers)])
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.gradient_checkpointing = False

    def forward(self, inputs_embeds):
        x = inputs_embeds
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True) if self.gradient_checkpointing and self.training else layer(x)
        return self.lm_head(x)


class MllamaForConditionalGeneration(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision_model = VisionTower()
        self.multi_modal_projector = nn.Linear(12, 12)
        self.language_model = LanguageModel()

    def gradient_checkpointing_enable(self):
        self.vision_model.gradient_checkpointing = self.language_model.gradient_checkpointing = True

    def forward(self, pixel_values, input_ids, labels):
        image_features = self.multi_modal_projector(self.vision_model(pixel_values))
        text = self.language_model.embed_tokens(input_ids)
        logits = self.language_model(torch.cat([image_features, text], dim=1))[:, image_features.shape[1]:]
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def configure_vision_tower(model, freeze):
    for p in model.vision_model.parameters():
        p.requires_grad = not freeze


def configure_llm(model, freeze):
    for p in model.language_model.parameters():
        p.requires_grad = not freeze


# %%
model = MllamaForConditionalGeneration()
configure_vision_tower(model, freeze=True)
configure_llm(model, freeze=False)
model.gradient_checkpointing_enable()
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

for step in range(2):
    input_ids = torch.randint(40, (2, 6))
    loss = model(torch.rand(2, 3, 8, 8), input_ids, input_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
