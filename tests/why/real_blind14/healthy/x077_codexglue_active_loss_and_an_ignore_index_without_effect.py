# https://github.com/microsoft/CodeXGLUE/issues/122
import torch
import torch.nn as nn

torch.manual_seed(0)
VOCAB, PAD, BOS, EOS, MAX_LEN = 14, 1, 0, 2, 8


class Seq2Seq(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB, hidden)
        self.positions = nn.Embedding(MAX_LEN + 2, hidden)
        encoder_layer = nn.TransformerEncoderLayer(hidden, 4, 96, dropout=0.0, batch_first=True)
        decoder_layer = nn.TransformerDecoderLayer(hidden, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder_layer, 1, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder_layer, 1)
        self.register_buffer('bias', torch.triu(torch.ones(MAX_LEN + 2, MAX_LEN + 2, dtype=torch.bool), 1))
        self.dense = nn.Linear(hidden, hidden)
        self.lm_head = nn.Linear(hidden, VOCAB, bias=False)
        self.lm_head.weight = self.embeddings.weight
        for table in (self.embeddings, self.positions):
            nn.init.normal_(table.weight, std=0.1)

    def embed(self, ids):
        return self.embeddings(ids) + self.positions.weight[:ids.shape[1]]

    def forward(self, source_ids, source_mask, target_ids, target_mask):
        memory = self.encoder(self.embed(source_ids), src_key_padding_mask=source_mask == 0)
        length = target_ids.shape[1]
        out = self.decoder(self.embed(target_ids), memory, tgt_mask=self.bias[:length, :length],
                           memory_key_padding_mask=source_mask == 0)
        hidden_states = torch.tanh(self.dense(out))
        lm_logits = self.lm_head(hidden_states)
        active_loss = target_mask[..., 1:].ne(0).view(-1)
        shift_logits = lm_logits[..., :-1, :].contiguous()
        shift_labels = target_ids[..., 1:].contiguous()
        loss_fct = nn.CrossEntropyLoss(ignore_index=-1)
        loss = loss_fct(shift_logits.view(-1, VOCAB)[active_loss], shift_labels.view(-1)[active_loss])
        return loss, lm_logits


def draw_batch(n=64):
    """Each target is its source with the next word for every word; the short ones are padded."""
    source, target = torch.full((n, MAX_LEN), PAD), torch.full((n, MAX_LEN + 2), PAD)
    for i, length in enumerate(torch.randint(2, 6, (n,)).tolist()):
        words = torch.randint(3, VOCAB, (length,))
        source[i, :length] = words
        target[i, :length + 2] = torch.cat([torch.tensor([BOS]), 3 + (words - 2) % (VOCAB - 3), torch.tensor([EOS])])
    return source, source.ne(PAD).long(), target, target.ne(PAD).long()


# %%
model = Seq2Seq()
no_decay = ['bias', 'norm']
groups = [
    {'params': [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], 'weight_decay': 0.01},
    {'params': [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], 'weight_decay': 0.0}]
optimizer = torch.optim.AdamW(groups, lr=3e-3, eps=1e-8)
losses = []

# %%
model.train()
for step in range(150):
    loss, _ = model(*draw_batch())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
print(losses[0], losses[-1])

# %%
source, source_mask, target, target_mask = draw_batch()
loss, logits = model(source, source_mask, target, target_mask)
d_logits, = torch.autograd.grad(loss, logits)
of_padding = d_logits[:, :-1][target_mask[:, 1:] == 0].abs().max().item()
of_words = d_logits[:, :-1][target_mask[:, 1:] == 1].abs().sum(-1).min().item()
print(of_padding, of_words)
assert model.lm_head.weight is model.embeddings.weight
assert of_padding == 0 and of_words > 0
assert losses[-1] < 0.4 * losses[0]
