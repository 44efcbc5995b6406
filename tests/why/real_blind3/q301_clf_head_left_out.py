# https://github.com/huggingface/pytorch-openai-transformer-lm/pull/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
n_embd, n_ctx, n_vocab, clf_token = 16, 8, 30, 29


class Block(nn.Module):
    def __init__(self, nx):
        super().__init__()
        self.attn = nn.MultiheadAttention(nx, 2, batch_first=True)
        self.ln_1, self.ln_2 = nn.LayerNorm(nx), nn.LayerNorm(nx)
        self.mlp = nn.Sequential(nn.Linear(nx, 4 * nx), nn.GELU(), nn.Linear(4 * nx, nx))

    def forward(self, x):
        a, _ = self.attn(x, x, x, need_weights=False)
        n = self.ln_1(x + a)
        return self.ln_2(n + self.mlp(n))


class Model(nn.Module):
    """Transformer model"""

    def __init__(self, vocab=n_vocab + n_ctx):
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, n_embd)
        self.h = nn.ModuleList([Block(n_embd) for _ in range(2)])

    def forward(self, x):
        x = x.view(-1, x.size(-2), x.size(-1))
        h = self.embed(x).sum(dim=2)
        for block in self.h:
            h = block(h)
        return h


class LMHead(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.decoder = nn.Linear(n_embd, model.vocab, bias=False)
        self.decoder.weight = model.embed.weight  # Tied weights

    def forward(self, h):
        return self.decoder(h[:, :-1].contiguous().view(-1, n_embd))


class ClfHead(nn.Module):
    """Classifier Head for the model"""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.1)
        self.linear = nn.Linear(n_embd, 1)

    def forward(self, h, x):
        clf_h = h.view(-1, n_embd)
        flat = x[:, :, :, 0].contiguous().view(-1)
        clf_h = clf_h[flat == clf_token]
        return self.linear(self.dropout(clf_h)).view(-1, x.size(1))


# %%
model = Model()
lm_head = LMHead(model)
clf_head = ClfHead()
model_opt = torch.optim.Adam(model.parameters(), lr=6.25e-4, betas=(0.9, 0.999))
lm_coef = 0.5


def transform_roc(n_batch):
    xmb = torch.zeros(n_batch, 2, n_ctx, 2, dtype=torch.long)
    xmb[..., 0] = torch.randint(n_vocab - 1, (n_batch, 2, n_ctx))
    xmb[:, :, -1, 0] = clf_token
    xmb[..., 1] = torch.arange(n_vocab, n_vocab + n_ctx)
    return xmb


clf_before = clf_head.linear.weight.detach().clone()

# %%
for n_updates in range(5):
    XMB, YMB = transform_roc(4), torch.randint(2, (4,))
    h = model(XMB)
    lm_logits, clf_logits = lm_head(h), clf_head(h, XMB)
    lm_losses = F.cross_entropy(lm_logits, XMB[:, :, 1:, 0].contiguous().view(-1), reduction='none')
    clf_losses = F.cross_entropy(clf_logits, YMB, reduction='none')
    train_loss = clf_losses.sum() + lm_coef * lm_losses.view(8, -1).mean(1).sum()
    train_loss.backward()
    model_opt.step()
    model_opt.zero_grad()
    print('%d %.3f' % (n_updates, train_loss.item()))
