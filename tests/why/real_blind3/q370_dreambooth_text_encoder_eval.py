# https://github.com/huggingface/diffusers/pull/1012
import itertools
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
args = SimpleNamespace(train_text_encoder=True, learning_rate=1e-3, num_train_epochs=2, max_grad_norm=1.0)


class CLIPTextModel(nn.Module):
    def __init__(self, vocab=40, hidden=8):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, hidden)
        self.encoder = nn.TransformerEncoderLayer(hidden, 2, 16, dropout=0.1, batch_first=True)

    def forward(self, input_ids):
        return (self.encoder(self.token_embedding(input_ids)),)


class UNet2DConditionModel(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.conv_in = nn.Conv2d(4, hidden, 3, padding=1)
        self.attn2 = nn.MultiheadAttention(hidden, 2, batch_first=True)
        self.conv_out = nn.Conv2d(hidden, 4, 3, padding=1)

    def forward(self, sample, timesteps, encoder_hidden_states):
        h = F.silu(self.conv_in(sample))
        b, c, height, width = h.shape
        tokens = h.flatten(2).transpose(1, 2)
        tokens = tokens + self.attn2(tokens, encoder_hidden_states, encoder_hidden_states)[0]
        return SimpleNamespace(sample=self.conv_out(tokens.transpose(1, 2).view(b, c, height, width)))


# %%
text_encoder = CLIPTextModel().eval()  # from_pretrained gives models in eval mode
unet = UNet2DConditionModel().eval()
if not args.train_text_encoder:
    text_encoder.requires_grad_(False)
params_to_optimize = (
    itertools.chain(unet.parameters(), text_encoder.parameters()) if args.train_text_encoder else unet.parameters())
optimizer = torch.optim.AdamW(params_to_optimize, lr=args.learning_rate)
train_dataloader = [{'latents': torch.randn(2, 4, 4, 4), 'input_ids': torch.randint(40, (2, 6))} for _ in range(2)]
encoder_before = text_encoder.encoder.linear1.weight.detach().clone()

# %%
for epoch in range(args.num_train_epochs):
    unet.train()
    for step, batch in enumerate(train_dataloader):
        latents = batch['latents']
        noise, timesteps = torch.randn_like(latents), torch.randint(0, 1000, (2,))
        noisy_latents = latents + noise
        encoder_hidden_states = text_encoder(batch["input_ids"])[0]
        noise_pred = unet(noisy_latents, timesteps, encoder_hidden_states).sample
        loss = F.mse_loss(noise_pred, noise, reduction="mean")
        loss.backward()
        nn.utils.clip_grad_norm_(itertools.chain(unet.parameters(), text_encoder.parameters()), args.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        print({"loss": loss.detach().item()})
