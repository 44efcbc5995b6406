# https://github.com/ibalazevic/TuckER/issues/17
import torch

torch.manual_seed(0)


class TuckER(torch.nn.Module):
    def __init__(self, n_entities, n_relations, d1, d2):
        super(TuckER, self).__init__()
        self.E = torch.nn.Embedding(n_entities, d1, padding_idx=0)
        self.R = torch.nn.Embedding(n_relations, d2, padding_idx=0)
        self.W = torch.nn.Parameter(torch.rand(d2, d1, d1) * 2 - 1)
        self.bn0 = torch.nn.BatchNorm1d(d1)
        self.bn1 = torch.nn.BatchNorm1d(d1)
        self.loss = torch.nn.BCELoss()

    def init(self):
        torch.nn.init.xavier_normal_(self.E.weight.data)
        torch.nn.init.xavier_normal_(self.R.weight.data)

    def forward(self, e1_idx, r_idx):
        e1 = self.E(e1_idx)
        x = self.bn0(e1)
        x = x.view(-1, 1, e1.size(1))
        r = self.R(r_idx)
        W_mat = torch.mm(r, self.W.view(r.size(1), -1))
        W_mat = W_mat.view(-1, e1.size(1), e1.size(1))
        x = torch.bmm(x, W_mat).view(-1, e1.size(1))
        x = torch.mm(self.bn1(x), self.E.weight.transpose(1, 0))
        return torch.sigmoid(x)


# %%
model = TuckER(9, 4, 6, 5)
model.init()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
e_before, r_before = model.E.weight.detach().clone(), model.R.weight.detach().clone()
entities = torch.randint(0, 9, (16,))
relations = torch.randint(0, 4, (16,))
targets = torch.nn.functional.one_hot(torch.randint(0, 9, (16,)), 9).float()

# %%
for it in range(3):
    opt.zero_grad()
    predictions = model.forward(entities, relations)
    loss = model.loss(predictions, targets)
    loss.backward()
    opt.step()
    print(loss.item())
