# https://github.com/lizekang/ITDD/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class IncrementalEncoder(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0., batch_first=True)

    def forward(self, src):
        return self.layer(self.embed(src))


class Decoder(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerDecoderLayer(dim, 4, 64, dropout=0., batch_first=True)

    def forward(self, tgt, memory):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        return self.layer(self.embed(tgt), memory, tgt_mask=mask)


class DelibModel(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.encoder = IncrementalEncoder(vocab, dim)
        self.knowledge_encoder = IncrementalEncoder(vocab, dim)
        self.first_decoder, self.second_decoder = Decoder(vocab, dim), Decoder(vocab, dim)
        self.generator = nn.Linear(dim, vocab)

    def forward(self, src, knowledge, tgt):
        memory = self.encoder(src)
        first_outputs = self.first_decoder(tgt[:, :-1], memory)
        emb = F.log_softmax(self.generator(first_outputs), dim=-1)
        # the words of the first pass, read with the knowledge by the second
        _, first_words = torch.topk(emb, 1, dim=-1)
        knowledge_memory = self.knowledge_encoder(torch.cat([knowledge, first_words.squeeze(-1)], dim=1))
        second_outputs = self.second_decoder(tgt[:, :-1], torch.cat([memory.detach(), knowledge_memory], dim=1))
        return first_outputs, second_outputs


# %%
vocab = 25
model = DelibModel(vocab)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
src = torch.randint(2, vocab, (64, 8))
knowledge = torch.randint(2, vocab, (64, 6))
tgt = torch.cat([torch.ones(64, 1, dtype=torch.long), src[:, :4], knowledge[:, :3]], dim=1)


def sharded_compute_loss(outputs, target):
    scores = model.generator(outputs)
    return F.cross_entropy(scores.flatten(0, 1), target.flatten())


# %%
history = []
for step in range(60):
    i = torch.randperm(64)[:16]
    first_outputs, second_outputs = model(src[i], knowledge[i], tgt[i])
    first_loss = sharded_compute_loss(first_outputs, tgt[i, 1:])
    second_loss = sharded_compute_loss(second_outputs, tgt[i, 1:])
    optimizer.zero_grad()
    first_loss.backward()
    encoder_after_first = model.encoder.embed.weight.grad.clone()
    second_loss.backward()
    encoder_after_second = model.encoder.embed.weight.grad.clone()
    optimizer.step()
    history.append((first_loss.item(), second_loss.item()))
print(history[0], history[-1], torch.equal(encoder_after_first, encoder_after_second))
