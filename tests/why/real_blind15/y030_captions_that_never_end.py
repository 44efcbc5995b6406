# https://github.com/dhansmair/flamingo-mini/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GatedCrossAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_visual = nn.Linear(dim, dim)
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, y, visual):
        return y + torch.tanh(self.alpha) * self.to_visual(visual).unsqueeze(1)


class LanguageModel(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.block = nn.GRU(dim, dim, batch_first=True)

    def get_input_embeddings(self):
        return self.wte

    def resize_token_embeddings(self, size):
        weight = self.wte.weight.data
        self.wte = nn.Embedding(size, weight.shape[1])
        self.wte.weight.data[:len(weight)] = weight


class FlamingoModel(nn.Module):
    def __init__(self, vocab=20, dim=16, dim_visual=8):
        super().__init__()
        self.lm = LanguageModel(vocab, dim)
        self.lm.resize_token_embeddings(vocab + 1)  # <EOC>, the end of a caption
        self.eoc_id = vocab
        self.resampler = nn.Linear(dim_visual, dim)
        self.xattn = GatedCrossAttention(dim)

    def freeze_lm(self):
        for param in self.lm.parameters():
            param.requires_grad = False

    def parameters_trainable(self):
        return filter(lambda p: p.requires_grad, self.parameters())

    def forward(self, input_ids, features):
        y = self.xattn(self.lm.get_input_embeddings()(input_ids), self.resampler(features))
        hidden, _ = self.lm.block(y)
        logits = hidden @ self.lm.get_input_embeddings().weight.T
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())


features = torch.randn(64, 8)
captions = torch.randint(0, 20, (64, 7))
captions[:, -1] = 20

# %%
model = FlamingoModel()
model.freeze_lm()
eoc_at_first = model.lm.wte.weight[model.eoc_id].detach().clone()
optimizer = torch.optim.AdamW(model.parameters_trainable(), lr=1e-2)
for epoch in range(4):
    for ids, visual in zip(captions.split(16), features.split(16)):
        loss = model(ids, visual)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
