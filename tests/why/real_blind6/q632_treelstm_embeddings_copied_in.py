# https://github.com/dasguptar/treelstm.pytorch/pull/26
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SimilarityTreeLSTM(nn.Module):
    def __init__(self, vocab_size, in_dim, mem_dim, num_classes, sparsity, freeze):
        super(SimilarityTreeLSTM, self).__init__()
        self.emb = nn.Embedding(vocab_size, in_dim, padding_idx=0, sparse=sparsity)
        if freeze:
            self.emb.weight.requires_grad = False
        self.childsumtreelstm = nn.GRU(in_dim, mem_dim, batch_first=True)
        self.wp = nn.Linear(2 * mem_dim, num_classes)

    def forward(self, linputs, rinputs):
        _, lhidden = self.childsumtreelstm(self.emb(linputs))
        _, rhidden = self.childsumtreelstm(self.emb(rinputs))
        vec = torch.cat((torch.mul(lhidden[-1], rhidden[-1]), torch.abs(lhidden[-1] - rhidden[-1])), 1)
        return F.log_softmax(self.wp(vec), dim=1)


freeze_embed = False
vocab_size, in_dim = 30, 10
model = SimilarityTreeLSTM(vocab_size, in_dim, 8, 5, False, freeze_embed)
criterion = nn.KLDivLoss(reduction='batchmean')

# for words common to dataset vocab and GLOVE, use GLOVE vectors
# for other words in dataset vocab, use random normal vectors
emb = torch.zeros(vocab_size, in_dim).normal_(-0.05, 0.05)
# zero out the embeddings for padding and other special words if they are absent in vocab
emb[0].zero_()

# %%
# plug these into embedding matrix inside model
model.emb.weight.copy_(emb)

optimizer = torch.optim.Adagrad(filter(lambda p: p.requires_grad, model.parameters()), lr=0.01)
for _ in range(3):
    target = torch.rand(4, 5).softmax(1)
    loss = criterion(model(torch.randint(1, 30, (4, 6)), torch.randint(1, 30, (4, 6))), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
