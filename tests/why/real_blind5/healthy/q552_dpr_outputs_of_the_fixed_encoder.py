# https://github.com/facebookresearch/DPR/issues/196
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HFBertEncoder(nn.Module):
    def __init__(self, vocab=50, d=16):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, d)
        self.layer = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, ids):
        sequence_output = self.layer(self.embeddings(ids))
        return sequence_output, sequence_output[:, 0, :]


class BiEncoder(nn.Module):
    def __init__(self, question_model, ctx_model, fix_q_encoder=False, fix_ctx_encoder=False):
        super().__init__()
        self.question_model, self.ctx_model = question_model, ctx_model
        self.fix_q_encoder, self.fix_ctx_encoder = fix_q_encoder, fix_ctx_encoder

    @staticmethod
    def get_representation(sub_model, ids, fix_encoder=False):
        if fix_encoder:
            with torch.no_grad():
                sequence_output, pooled_output = sub_model(ids)
            if sub_model.training:
                sequence_output.requires_grad_(requires_grad=True)
                pooled_output.requires_grad_(requires_grad=True)
        else:
            sequence_output, pooled_output = sub_model(ids)
        return sequence_output, pooled_output

    def forward(self, question_ids, context_ids):
        _, q_pooled_out = self.get_representation(self.question_model, question_ids, self.fix_q_encoder)
        _, ctx_pooled_out = self.get_representation(self.ctx_model, context_ids, self.fix_ctx_encoder)
        return q_pooled_out, ctx_pooled_out


# %%
biencoder = BiEncoder(HFBertEncoder(), HFBertEncoder(), fix_ctx_encoder=True)
optimizer = torch.optim.AdamW(biencoder.parameters(), lr=2e-3, weight_decay=0.0)
ctx_before = biencoder.ctx_model.embeddings.weight.detach().clone()
q_before = biencoder.question_model.embeddings.weight.detach().clone()

# %%
biencoder.train()
for i in range(3):
    q_ids, ctx_ids = torch.randint(0, 50, (4, 5)), torch.randint(0, 50, (4, 9))
    q_vectors, ctx_vectors = biencoder(q_ids, ctx_ids)
    scores = torch.matmul(q_vectors, ctx_vectors.t())
    loss = F.nll_loss(F.log_softmax(scores, dim=1), torch.arange(4))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(biencoder.parameters(), 2.0)
    optimizer.step()
    biencoder.zero_grad()
    print(i, loss.item())
