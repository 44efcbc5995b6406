# https://github.com/VideoVerses/VideoTuna/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TextEmbedder(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embedding, self.layer = nn.Embedding(vocab, dim), nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.tanh(self.layer(self.embedding(tokens))).mean(1)


class LatentDiffusion(nn.Module):
    def __init__(self, cond_stage_trainable=True, timesteps=100):
        super().__init__()
        self.first_stage_model = nn.Linear(4 * 16, 8).requires_grad_(False)
        self.cond_stage_model = TextEmbedder()
        self.model = nn.Sequential(nn.Linear(8 + 1 + 16, 64), nn.SiLU(), nn.Linear(64, 8))
        self.cond_stage_trainable = cond_stage_trainable
        self.num_timesteps = timesteps
        self.register_buffer("alphas_cumprod", torch.cumprod(1 - torch.linspace(1e-3, 5e-2, timesteps), 0))

    def get_first_stage_encoding(self, x):
        with torch.no_grad():
            return self.first_stage_model(x.flatten(1))

    def get_learned_conditioning(self, c):
        return self.cond_stage_model(c)

    @torch.no_grad()
    def get_batch_input(self, batch, random_uncond):
        z = self.get_first_stage_encoding(batch["video"])
        cond = batch["caption"]
        if random_uncond:
            drop = torch.rand(cond.size(0), 1) < 0.1
            cond = cond.masked_fill(drop, 0)
        cond_emb = self.get_learned_conditioning(cond)
        return z, cond_emb

    def forward(self, x, c):
        t = torch.randint(0, self.num_timesteps, (x.size(0),))
        noise = torch.randn_like(x)
        a = self.alphas_cumprod[t].view(-1, 1)
        x_noisy = a.sqrt() * x + (1 - a).sqrt() * noise
        model_output = self.model(torch.cat([x_noisy, t.view(-1, 1) / self.num_timesteps, c], 1))
        return F.mse_loss(model_output, noise)

    def training_step(self, batch):
        x, c = self.get_batch_input(batch, random_uncond=True)
        return self(x, c)

    def configure_optimizers(self):
        params = list(self.model.parameters())
        if self.cond_stage_trainable:
            params += list(self.cond_stage_model.parameters())
        return torch.optim.AdamW(params, lr=1e-3)


def make_batch(n):
    caption = torch.randint(1, 30, (n, 5))
    return {"video": torch.randn(n, 4, 16) + (caption[:, 0] / 15.0 - 1.0).view(-1, 1, 1), "caption": caption}


# %%
model = LatentDiffusion(cond_stage_trainable=True)
optimizer = model.configure_optimizers()
for step in range(20):
    loss = model.training_step(make_batch(16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
