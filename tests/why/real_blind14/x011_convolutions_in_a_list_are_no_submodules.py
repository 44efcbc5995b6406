# https://github.com/pytorch/pytorch/issues/1053
import torch as th
import torch.nn.functional as F

th.manual_seed(0)
WORD_VEC_SIZE = 12


class Net(th.nn.Module):
    def __init__(self):
        super(Net, self).__init__()

        self.conv1d = [
            th.nn.Conv1d(WORD_VEC_SIZE, 4, 3),
            th.nn.Conv1d(WORD_VEC_SIZE, 4, 4),
            th.nn.Conv1d(WORD_VEC_SIZE, 4, 5),
        ]
        self.out = th.nn.Linear(12, 2)

    def forward(self, words):
        pooled = [F.relu(conv(words)).max(dim=2)[0] for conv in self.conv1d]
        return self.out(th.cat(pooled, dim=1))


def make_batch(n=32):
    words = th.randn(n, WORD_VEC_SIZE, 10)
    return words, (words[:, 0].max(dim=1)[0] > 1.5).long()


# %%
a = Net()
first = a.conv1d[0].weight.detach().clone()
optimizer = th.optim.Adam(a.parameters(), lr=1e-2)
for epoch in range(20):
    words, labels = make_batch()
    loss = F.cross_entropy(a(words), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), len(list(a.parameters())))
