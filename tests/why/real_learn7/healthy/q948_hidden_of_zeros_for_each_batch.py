# https://github.com/gabrielloye/RNN-walkthrough/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)



class Model(nn.Module):
    def __init__(self, input_size, output_size, hidden_dim, n_layers):
        super().__init__()
        self.hidden_dim, self.n_layers = hidden_dim, n_layers
        self.rnn = nn.RNN(input_size, hidden_dim, n_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_size)

    def forward(self, x):
        hidden = self.init_hidden(x.size(0))
        out, hidden = self.rnn(x, hidden)
        return self.fc(out.contiguous().view(-1, self.hidden_dim)), hidden

    def init_hidden(self, batch_size):
        return torch.zeros(self.n_layers, batch_size, self.hidden_dim)


# %%
model = Model(5, 5, 12, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
before = model.rnn.weight_hh_l0.detach().clone()
text = torch.randint(5, (3, 9))

# %%
for epoch in range(4):
    optimizer.zero_grad()
    output, hidden = model(F.one_hot(text[:, :-1], 5).float())
    loss = F.cross_entropy(output, text[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    print(loss.item())
