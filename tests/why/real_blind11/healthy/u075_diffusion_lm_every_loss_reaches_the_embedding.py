# https://github.com/XiangLi1999/Diffusion-LM/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
vocab, dim, steps = 30, 8, 4
alphas_cumprod = torch.linspace(0.95, 0.1, steps)


class TransformerNetModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.time_embed = nn.Embedding(steps, dim)
        self.net = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.output_down_proj = nn.Linear(dim, dim)

    def forward(self, x, t):
        return self.output_down_proj(self.net(x + self.time_embed(t)[:, None]))


def q_sample(x_start, t, noise):
    a = alphas_cumprod[t][:, None, None]
    return a.sqrt() * x_start + (1 - a).sqrt() * noise


# %%
word_embedding = nn.Embedding(vocab, dim)
lm_head = nn.Linear(dim, vocab)
with torch.no_grad():
    lm_head.weight = word_embedding.weight
model = TransformerNetModel()
opt = torch.optim.AdamW([*word_embedding.parameters(), *model.parameters(), lm_head.bias], lr=1e-2)
input_ids = torch.randint(0, vocab, (16, 10))

# %%
history = []
for step in range(30):
    t = torch.randint(0, steps, (16,))
    x_start_mean = word_embedding(input_ids)
    x_start = x_start_mean + 0.1 * torch.randn_like(x_start_mean)
    x_t = q_sample(x_start, t, torch.randn_like(x_start))
    model_output = model(x_t, t)
    mse = F.mse_loss(model_output, x_start)
    tT_loss = (alphas_cumprod[-1].sqrt() * x_start).pow(2).mean()
    decoder_nll = F.cross_entropy(lm_head(x_start).flatten(0, 1), input_ids.flatten())
    loss = mse + decoder_nll + tT_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
print(history[0], history[-1])
assert history[-1] < history[0]
assert word_embedding.weight.grad.abs().sum() > 0
assert lm_head.weight is word_embedding.weight
