# https://github.com/OpenGVLab/InternVL/issues/586
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class InternVLChatModel(nn.Module):
    def __init__(self, vocab=60, dim=16, img_context_token_id=59):
        super().__init__()
        self.img_context_token_id = img_context_token_id
        self.vision_model = nn.Linear(12, 24)
        self.mlp1 = nn.Sequential(nn.LayerNorm(24), nn.Linear(24, dim))
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def enable_input_require_grads(self):
        def make_inputs_require_grads(module, input, output):
            output.requires_grad_(True)
        self.embed_tokens.register_forward_hook(make_inputs_require_grads)

    def extract_feature(self, pixel_values):
        return self.mlp1(torch.tanh(self.vision_model(pixel_values)))

    def forward(self, pixel_values, input_ids, labels):
        input_embeds = self.embed_tokens(input_ids)
        vit_embeds = self.extract_feature(pixel_values)

        B, N, C = input_embeds.shape
        input_embeds = input_embeds.reshape(B * N, C)
        input_ids = input_ids.reshape(B * N)
        selected = (input_ids == self.img_context_token_id)
        input_embeds[selected] = input_embeds[selected] * 0.0 + vit_embeds.reshape(-1, C)
        input_embeds = input_embeds.reshape(B, N, C)

        hidden = checkpoint(self.layer, input_embeds, use_reentrant=True)
        logits = self.lm_head(hidden)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


# %%
model = InternVLChatModel()
# freeze_llm, freeze_backbone: only the projector is trained
for module in (model.vision_model, model.embed_tokens, model.layer, model.lm_head):
    module.requires_grad_(False)
model.enable_input_require_grads()
optimizer = torch.optim.AdamW(model.mlp1.parameters(), lr=1e-3)

pixel_values = torch.randn(2, 4, 12)
input_ids = torch.randint(0, 58, (2, 10))
input_ids[:, 2:6] = 59
input_embeds = model.embed_tokens(input_ids)
print(input_embeds.is_leaf)

# %%
for step in range(2):
    loss = model(pixel_values, input_ids, labels=input_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
