# https://github.com/Tongjilibo/bert4torch/issues/140
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, vocab_size=2000, hidden_size=32, num_layers=2):
        super().__init__()
        self.embeddings = nn.ModuleDict({'word_embeddings': nn.Embedding(vocab_size, hidden_size, padding_idx=0)})
        self.encoderLayer = nn.ModuleList(
            [nn.TransformerEncoderLayer(hidden_size, 4, 64, dropout=0.1, batch_first=True) for _ in range(num_layers)])

    def forward(self, token_ids):
        x = self.embeddings['word_embeddings'](token_ids)
        for layer in self.encoderLayer:
            x = layer(x, src_key_padding_mask=token_ids == 0)
        return x


class AutoModel:
    @staticmethod
    def from_pretrained(path):
        generator_state = torch.get_rng_state()
        torch.manual_seed(7)
        model = Backbone()
        torch.set_rng_state(generator_state)
        return model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = AutoModel.from_pretrained('microsoft/deberta-v3-base')
        self.dropout = nn.Dropout(0.1)
        self.dense = nn.Linear(32, 2)

    def forward(self, token_ids):
        hidden_states = self.bert(token_ids)
        output = self.dropout(hidden_states[:, 0])
        return self.dense(output)


# %%
token_ids = torch.randint(2, 200, (256, 12))
token_ids[:, 0] = 1
token_ids[::2, 9:] = 0
labels = (token_ids[:, 1:4] > 100).sum(dim=1).ge(2).long()
train_dataloader = DataLoader(TensorDataset(token_ids, labels), batch_size=16, shuffle=True)

train_model = Model()
optimizer = optim.Adam(train_model.parameters(), lr=2e-5)
criterion = nn.CrossEntropyLoss()
embedding = train_model.bert.embeddings['word_embeddings'].weight
out_proj = train_model.bert.encoderLayer[0].self_attn.out_proj.weight
before = [embedding.detach().clone(), out_proj.detach().clone(), train_model.dense.weight.detach().clone()]

# %%
for epoch in range(1):
    train_model.train()
    for step, (batch_ids, batch_labels) in enumerate(train_dataloader):
        loss = criterion(train_model(batch_ids), batch_labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print('[embedding]: ', embedding.sum().item(), ' [o.weight]: ', out_proj.sum().item(), 'loss: ', loss.item())

moved = [(p - b).abs().max().item() for p, b in zip([embedding, out_proj, train_model.dense.weight], before)]
print(moved)
