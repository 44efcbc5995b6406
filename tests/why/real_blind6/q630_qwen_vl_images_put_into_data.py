# https://github.com/QwenLM/Qwen-VL/issues/124
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class QWenModel(nn.Module):
    def __init__(self, vocab=40, dim=16, n_queries=4):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(0.0)
        self.h = nn.ModuleList([nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)])
        self.visual = nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 4, n_queries * dim), nn.Unflatten(1, (n_queries, dim)))

    def forward(self, input_ids, pixels, img_pos):
        images = self.visual(pixels)
        hidden_states = self.wte(input_ids)
        hidden_states = self.drop(hidden_states)
        if images is not None:
            for idx, (i, a, b) in enumerate(img_pos):
                hidden_states.data[i][a + 1: b] = images.data[idx]
        for block in self.h:
            hidden_states = block(hidden_states)
        return hidden_states


class QWenLMHeadModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = QWenModel()
        self.visual = self.transformer.visual
        self.lm_head = nn.Linear(16, 40, bias=False)

    def forward(self, input_ids, pixels, img_pos, labels):
        lm_logits = self.lm_head(self.transformer(input_ids, pixels, img_pos))
        return F.cross_entropy(lm_logits[:, :-1].reshape(-1, 40), labels[:, 1:].reshape(-1))


# %%
model = QWenLMHeadModel()
model.requires_grad_(False)
model.transformer.visual.requires_grad_(True)
optimizer = torch.optim.AdamW(model.transformer.visual.parameters(), lr=1e-3)

# %%
for step in range(3):
    input_ids = torch.randint(0, 40, (2, 10))
    pixels = torch.rand(2, 3, 4, 4)
    loss = model(input_ids, pixels, img_pos=[(0, 0, 5), (1, 2, 7)], labels=input_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
