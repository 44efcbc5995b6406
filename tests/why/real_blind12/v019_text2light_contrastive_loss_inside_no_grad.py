# https://github.com/FrozenBurning/Text2Light/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
n_codes, code_dim, seq = 16, 8, 4


class GlobalSampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, seq * n_codes))
        self.codebook = nn.Embedding(n_codes, code_dim)
        self.decoder = nn.ConvTranspose2d(code_dim, 3, 4, stride=4)
        for module in (self.codebook, self.decoder):
            for param in module.parameters():
                param.requires_grad = False

    def forward(self, c):
        return self.transformer(c).view(-1, seq, n_codes)

    def decode_to_img_diff(self, onehot):
        quant = onehot @ self.codebook.weight
        return self.decoder(quant.transpose(1, 2).reshape(-1, code_dim, 2, 2))


class GlobalSamplerWithCLIP(GlobalSampler):
    def __init__(self):
        super().__init__()
        self.clip = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 10))
        self.clip.eval()
        for param in self.clip.parameters():
            param.requires_grad = False

    def shared_step(self, batch):
        c, target = batch['c'], batch['indices']
        logits = self(c)
        index_sample = F.gumbel_softmax(logits, hard=True)
        with torch.no_grad():
            x_sample_nopix = self.decode_to_img_diff(index_sample)  # hack
            gen_img_emb = self.clip(x_sample_nopix)
            gen_img_emb = gen_img_emb / gen_img_emb.norm(dim=-1, keepdim=True)

            psed_emb = batch['psed_emb']
            sim = torch.cosine_similarity(gen_img_emb.unsqueeze(1), psed_emb.unsqueeze(0), dim=-1)
            sim = torch.exp(sim / 0.5)
            contra_loss = -torch.log(torch.diagonal(F.softmax(sim, dim=0)) * 0.5).mean()
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), target.reshape(-1))
        return loss + 0.1 * contra_loss, contra_loss


# %%
model = GlobalSamplerWithCLIP()
optimizer = torch.optim.AdamW(model.transformer.parameters(), lr=1e-3)
batch = {'c': torch.randn(8, 6), 'indices': torch.randint(0, n_codes, (8, seq)), 'psed_emb': torch.randn(8, 10)}

# %%
for step in range(5):
    loss, contra_loss = model.shared_step(batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), contra_loss.item())
