# https://discuss.pytorch.org/t/why-weight-sharing-of-input-and-output-embeddings-is-not-broken-by-optim-step/170976
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class Embedding(nn.Module):
    def __init__(self, vocab_size, model_dimension):
        super().__init__()
        self.embeddings_table = nn.Embedding(vocab_size, model_dimension)
        self.model_dimension = model_dimension

    @property
    def weight(self):
        return self.embeddings_table.weight

    def forward(self, token_ids_batch):
        return self.embeddings_table(token_ids_batch) * math.sqrt(self.model_dimension)


class Transformer(nn.Module):
    def __init__(self, model_dimension=16, vocab_size=24, number_of_heads=2):
        super().__init__()
        self.encoder_input_embedding = Embedding(vocab_size, model_dimension)
        self.decoder_input_embedding = Embedding(vocab_size, model_dimension)
        self.encoder = nn.TransformerEncoderLayer(model_dimension, number_of_heads, 32, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(model_dimension, number_of_heads, 32, dropout=0.0, batch_first=True)
        self.linear = nn.Linear(model_dimension, vocab_size, bias=False)
        self.init_params(share=True)

    def init_params(self, share):
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        if share:
            self.encoder_input_embedding.embeddings_table.weight = self.linear.weight
            self.decoder_input_embedding.embeddings_table.weight = self.linear.weight

    def forward(self, src, trg):
        memory = self.encoder(self.encoder_input_embedding(src))
        return self.linear(self.decoder(self.decoder_input_embedding(trg), memory)).log_softmax(-1)


# %%
model = Transformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
criterion = nn.KLDivLoss(reduction='batchmean')
w_before = model.linear.weight.detach().clone()

# %%
for batch in range(3):
    src, trg = torch.randint(0, 24, (4, 7)), torch.randint(0, 24, (4, 6))
    log_probs = model(src, trg[:, :-1])
    smoothed = nn.functional.one_hot(trg[:, 1:], 24) * 0.9 + 0.1 / 24
    loss = criterion(log_probs.flatten(0, 1), smoothed.flatten(0, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(batch, loss.item(), torch.equal(model.encoder_input_embedding.weight, model.linear.weight))
