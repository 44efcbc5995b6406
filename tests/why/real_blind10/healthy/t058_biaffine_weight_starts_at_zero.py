# https://github.com/yzhangcs/parser/issues/100
import torch
import torch.nn as nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, n_in, n_out, dropout=0.33):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.activation = nn.LeakyReLU(negative_slope=0.1)
        self.dropout = nn.Dropout(dropout)
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x):
        return self.dropout(self.activation(self.linear(x)))


class Biaffine(nn.Module):
    def __init__(self, n_in, n_out=1, bias_x=True, bias_y=True):
        super().__init__()
        self.n_out, self.bias_x, self.bias_y = n_out, bias_x, bias_y
        self.weight = nn.Parameter(torch.Tensor(n_out, n_in + bias_x, n_in + bias_y))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.zeros_(self.weight)

    def forward(self, x, y):
        if self.bias_x:
            x = torch.cat((x, torch.ones_like(x[..., :1])), -1)
        if self.bias_y:
            y = torch.cat((y, torch.ones_like(y[..., :1])), -1)
        s = torch.einsum('bxi,oij,byj->boxy', x, self.weight, y)
        return s.squeeze(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.encoder = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.arc_mlp_d, self.arc_mlp_h = MLP(32, 20), MLP(32, 20)
        self.arc_attn = Biaffine(20, bias_x=True, bias_y=False)

    def forward(self, words):
        x, _ = self.encoder(self.embed(words))
        return self.arc_attn(self.arc_mlp_d(x), self.arc_mlp_h(x))


# %%
model = Model()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), 2e-3, (0.9, 0.9), 1e-12)
words, arcs = torch.randint(0, 50, (8, 7)), torch.randint(0, 7, (8, 7))

first = None
for step in range(10):
    optimizer.zero_grad()
    s_arc = model(words)
    loss = criterion(s_arc.reshape(-1, 7), arcs.reshape(-1))
    loss.backward()
    first = loss.item() if first is None else first
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
print(first, loss.item())
