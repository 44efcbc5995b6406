# https://github.com/harvardnlp/annotated-transformer/issues/14
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    "Define standard linear + softmax generation step."

    def __init__(self, d_model, vocab):
        super(Generator, self).__init__()
        self.proj = nn.Linear(d_model, vocab)

    def forward(self, x):
        return F.log_softmax(self.proj(x), dim=-1)


class Model(nn.Module):
    def __init__(self, vocab, d_model=16):
        super().__init__()
        self.src_embed = nn.Embedding(vocab, d_model)
        self.encoder = nn.TransformerEncoderLayer(d_model, nhead=2, dim_feedforward=32, dropout=0.1, batch_first=True)
        self.generator = Generator(d_model, vocab)

    def forward(self, src):
        return self.encoder(self.src_embed(src))


def data_gen(V, batch, nbatches):
    "Generate random data for a src-tgt copy task."
    for _ in range(nbatches):
        data = torch.randint(1, V, (batch, 8))
        yield data, data


class SimpleLossCompute:
    "A simple loss compute and train function."

    def __init__(self, generator, criterion, opt=None):
        self.generator = generator
        self.criterion = criterion
        self.opt = opt

    def __call__(self, x, y, norm):
        x = self.generator(x)
        loss = self.criterion(x.contiguous().view(-1, x.size(-1)), y.contiguous().view(-1)) / norm
        loss.backward()
        if self.opt is not None:
            self.opt.step()
            self.opt.zero_grad()
        return loss.item() * norm


def run_epoch(data_iter, model, loss_compute):
    total_tokens, total_loss = 0, 0
    for src, tgt in data_iter:
        out = model(src)
        total_loss += loss_compute(out, tgt, tgt.numel())
        total_tokens += tgt.numel()
    return total_loss / total_tokens


# %%
V = 11
model = Model(V)
criterion = nn.NLLLoss(reduction="sum")
model_opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    model.train()
    run_epoch(data_gen(V, 30, 20), model, SimpleLossCompute(model.generator, criterion, model_opt))
    model.eval()
    print(run_epoch(data_gen(V, 30, 5), model, SimpleLossCompute(model.generator, criterion, None)))
