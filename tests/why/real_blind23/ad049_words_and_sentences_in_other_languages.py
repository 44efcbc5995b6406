# https://github.com/ccsasuke/umwe/issues/5
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Mapping(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.linear = nn.Linear(emb_dim, emb_dim, bias=False)
        self.linear.weight.data.copy_(torch.diag(torch.ones(emb_dim)))

    def forward(self, x):
        return self.linear(x)

    @torch.no_grad()
    def orthogonalize(self, beta=0.01):
        W = self.linear.weight
        W.copy_((1 + beta) * W - beta * W.mm(W.t().mm(W)))


def get_idf(sentences, n_words):
    df = np.zeros(n_words)
    for s in sentences:
        for w in set(s):
            df[w] += 1
    return np.log10(len(sentences) / np.maximum(df, 1))


def bow_idf(sentences, word_vec, idf):
    sentences_emb = []
    for sent in sentences:
        weights = np.array([idf[w] for w in sent])
        sentences_emb.append((word_vec[sent] * weights[:, None]).sum(0) / weights.sum())
    return np.stack(sentences_emb)


def get_word_translation_accuracy(emb1, emb2, dico, k=10):
    emb1 = emb1 / emb1.norm(2, 1, keepdim=True).expand_as(emb1)
    emb2 = emb2 / emb2.norm(2, 1, keepdim=True).expand_as(emb2)
    scores = emb1[dico[:, 0]].mm(emb2.t())
    top = scores.topk(k, 1, True)[1]
    return (top == dico[:, 1:2]).any(1).float().mean().item()


def get_sent_translation_accuracy(src_sents, tgt_sents, emb1, emb2, idf):
    emb1 = emb1.cpu().numpy()
    emb1 = emb1 / np.linalg.norm(emb1, 2, 1)[:, None]
    emb2 = emb2.cpu().numpy()
    emb2 = emb2 / np.linalg.norm(emb2, 2, 1)[:, None]
    query = torch.from_numpy(bow_idf(src_sents, emb1, idf))
    keys = torch.from_numpy(bow_idf(tgt_sents, emb2, idf))
    scores = F.normalize(query, dim=1) @ F.normalize(keys, dim=1).t()
    return (scores.argmax(1) == torch.arange(len(src_sents))).double().mean().item()


class Evaluator:
    def __init__(self, trainer, dico, src_sents, tgt_sents, n_words):
        self.embs, self.mappings = trainer.embs, trainer.mappings
        self.dico, self.src_sents, self.tgt_sents = dico, src_sents, tgt_sents
        self.idf = get_idf(src_sents, n_words)

    def word_translation(self, to_log):
        src_emb = self.mappings["de"](self.embs["de"].weight).data
        tgt_emb = self.embs["en"].weight.data
        to_log["precision_at_10"] = get_word_translation_accuracy(src_emb, tgt_emb, self.dico)

    def sent_translation(self, to_log):
        src_emb = self.mappings["de"](self.embs["de"].weight).data
        tgt_emb = self.embs["en"].weight
        to_log["sent_precision_at_1"] = get_sent_translation_accuracy(
            self.src_sents, self.tgt_sents, src_emb, tgt_emb, self.idf
        )

    def all_eval(self, to_log):
        self.word_translation(to_log)
        self.sent_translation(to_log)


class Trainer:
    def __init__(self, embs, emb_dim, lr=0.5):
        self.embs = embs
        self.mappings = {"de": Mapping(emb_dim)}
        self.optimizer = torch.optim.SGD(self.mappings["de"].parameters(), lr=lr)

    def mapping_step(self, pairs):
        with torch.no_grad():
            src, tgt = self.embs["de"](pairs[:, 0]), self.embs["en"](pairs[:, 1])
        loss = (1 - F.cosine_similarity(self.mappings["de"](src), tgt)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.mappings["de"].orthogonalize()
        return loss.item()


# %%
n_words, emb_dim = 200, 32
vectors = torch.randn(n_words, emb_dim)
rotation, _ = torch.linalg.qr(torch.randn(emb_dim, emb_dim))
embs = {"de": nn.Embedding(n_words, emb_dim), "en": nn.Embedding(n_words, emb_dim)}
embs["de"].weight.data.copy_(vectors @ rotation)
embs["en"].weight.data.copy_(vectors + 0.1 * torch.randn(n_words, emb_dim))
dico = torch.arange(n_words)[:, None].expand(-1, 2)
src_sents = torch.randint(0, n_words, (50, 6)).tolist()
tgt_sents = [s[::-1] for s in src_sents]

# %%
trainer = Trainer(embs, emb_dim)
evaluator = Evaluator(trainer, dico, src_sents, tgt_sents, n_words)
for n_iter in range(200):
    loss = trainer.mapping_step(dico[torch.randint(0, n_words, (64,))])
print("mapping loss", loss)

# %%
to_log = {"n_epoch": 0}
evaluator.all_eval(to_log)
print(to_log)
