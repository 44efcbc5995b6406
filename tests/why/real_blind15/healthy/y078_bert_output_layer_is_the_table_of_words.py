# https://github.com/huggingface/transformers/issues/3998
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, MASK, LENGTH = 14, 0, 8


class BertEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCAB, dim)
        self.position_embeddings = nn.Embedding(LENGTH, dim)
        self.LayerNorm = nn.LayerNorm(dim)

    def forward(self, input_ids):
        position_ids = torch.arange(input_ids.size(1))
        return self.LayerNorm(self.word_embeddings(input_ids) + self.position_embeddings(position_ids))


class BertLMPredictionHead(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.transform = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
        # the output weights are the same as the input embeddings, but there is a bias for each word
        self.decoder = nn.Linear(dim, VOCAB, bias=False)
        self.bias = nn.Parameter(torch.zeros(VOCAB))

    def forward(self, hidden_states):
        return self.decoder(self.transform(hidden_states)) + self.bias


class BertForMaskedLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embeddings = BertEmbeddings(dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, activation='gelu', batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.cls = BertLMPredictionHead(dim)
        self.apply(self._init_weights)
        self.tie_weights()

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=0.1)

    def get_input_embeddings(self):
        return self.embeddings.word_embeddings

    def get_output_embeddings(self):
        return self.cls.decoder

    def tie_weights(self):
        self.get_output_embeddings().weight = self.get_input_embeddings().weight

    def forward(self, input_ids, masked_lm_labels=None):
        prediction_scores = self.cls(self.encoder(self.embeddings(input_ids)))
        if masked_lm_labels is None:
            return prediction_scores
        loss = F.cross_entropy(prediction_scores.view(-1, VOCAB), masked_lm_labels.view(-1), ignore_index=-100)
        return loss, prediction_scores


def masked_batch(n=64):
    """Words that go on by ones or by twos; one or two are hidden."""
    first, step = torch.randint(0, VOCAB - 1, (n, 1)), torch.randint(1, 3, (n, 1))
    ids = (first + step * torch.arange(LENGTH)) % (VOCAB - 1) + 1
    hidden = torch.rand(n, LENGTH) < 0.2
    labels = torch.where(hidden, ids, -100)
    return torch.where(hidden, MASK, ids), labels


# %%
m = BertForMaskedLM()
decay = [p for n, p in m.named_parameters() if p.ndim > 1]
no_decay = [p for n, p in m.named_parameters() if p.ndim <= 1]
optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 0.01}, {'params': no_decay, 'weight_decay': 0.0}], lr=3e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 30, (300 - step) / 270))
losses = []
for step in range(300):
    ids, labels = masked_batch()
    loss, _ = m(ids, masked_lm_labels=labels)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())

# %%
m.eval()
with torch.no_grad():
    ids, labels = masked_batch(500)
    hidden = labels != -100
    hits = (m(ids).argmax(-1)[hidden] == labels[hidden]).float().mean().item()
print(losses[0], losses[-1], hits)
assert m.get_input_embeddings().weight is m.get_output_embeddings().weight
assert sum(p is m.cls.decoder.weight for group in optimizer.param_groups for p in group['params']) == 1
assert losses[-1] < 0.4 * losses[0] and hits > 0.85
