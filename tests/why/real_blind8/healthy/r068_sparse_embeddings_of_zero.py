# https://pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
import torch
import torch.nn as nn

torch.manual_seed(0)


class SkipGram(nn.Module):
    def __init__(self, emb_size=50, emb_dimension=8):
        super().__init__()
        self.u_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        self.v_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        nn.init.uniform_(self.u_embeddings.weight.data, -1.0 / emb_dimension, 1.0 / emb_dimension)
        nn.init.constant_(self.v_embeddings.weight.data, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u, emb_v, emb_neg_v = self.u_embeddings(pos_u), self.v_embeddings(pos_v), self.v_embeddings(neg_v)
        score = -nn.functional.logsigmoid(torch.sum(emb_u * emb_v, dim=1).clamp(max=10, min=-10))
        neg_score = torch.bmm(emb_neg_v, emb_u.unsqueeze(2)).squeeze().clamp(max=10, min=-10)
        return torch.mean(score - torch.sum(nn.functional.logsigmoid(-neg_score), dim=1))


# %%
skip_gram_model = SkipGram()
optimizer = torch.optim.SparseAdam(list(skip_gram_model.parameters()), lr=0.01)
before = skip_gram_model.u_embeddings.weight.detach().clone()

# %%
for i in range(3):
    pos_u, pos_v, neg_v = torch.randint(0, 20, (8,)), torch.randint(0, 20, (8,)), torch.randint(0, 20, (8, 5))
    optimizer.zero_grad()
    loss = skip_gram_model(pos_u, pos_v, neg_v)
    loss.backward()
    optimizer.step()
    print(loss.item())
