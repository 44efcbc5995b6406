# https://github.com/huggingface/diffusers/blob/main/examples/textual_inversion/textual_inversion.py
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class TextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.final = nn.Linear(8, 8)

    def forward(self, ids):
        return self.final(self.embed(ids).mean(1))


# %%
text_encoder = TextEncoder()
unet = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 8))
placeholder_token_ids = [10]

# Freeze everything but the token embeddings
unet.requires_grad_(False)
text_encoder.final.requires_grad_(False)

optimizer = torch.optim.AdamW(text_encoder.embed.parameters(), lr=5e-3, weight_decay=1e-2)
# keep original embeddings as reference
orig_embeds_params = text_encoder.embed.weight.data.clone()

# %%
text_encoder.train()
for step in range(4):
    latents, noise = torch.randn(6, 8), torch.randn(6, 8)
    input_ids = torch.cat([torch.randint(0, 10, (6, 3)), torch.full((6, 1), 10)], 1)
    noisy_latents = 0.7 * latents + 0.7 * noise
    encoder_hidden_states = text_encoder(input_ids)
    model_pred = unet(torch.cat([noisy_latents, encoder_hidden_states], 1))
    loss = F.mse_loss(model_pred.float(), noise.float(), reduction="mean")
    loss.backward()
    optimizer.step()
    if step < 3:
        optimizer.zero_grad()

    # Let's make sure we don't update any embedding weights besides the newly added token
    index_no_updates = torch.ones((11,), dtype=torch.bool)
    index_no_updates[min(placeholder_token_ids) : max(placeholder_token_ids) + 1] = False

    with torch.no_grad():
        text_encoder.embed.weight[index_no_updates] = orig_embeds_params[index_no_updates]
