# https://github.com/sgadgil6/cnslab_fmri/issues/4
import torch
from torch import nn


class fMRI_LSTM(nn.Module):
    def __init__(self, hidden_dim, input_dim):
        super(fMRI_LSTM, self).__init__()
        self.hidden_dim = hidden_dim
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers=1, batch_first=True)
        self.linear = nn.Linear(hidden_dim, 1)
        self.hidden = self.init_hidden()
        self.dropout = nn.Dropout(p=0.2)

    def init_hidden(self, ):
        return (torch.randn(1, 4, self.hidden_dim), torch.randn(1, 4, self.hidden_dim))

    def forward(self, x):
        lstm_out, self.hidden = self.lstm(x, self.hidden)
        lstm_out = lstm_out[:, -1, :]
        out = self.dropout(lstm_out)
        return self.linear(out)


model = fMRI_LSTM(8, 5)
optimizer = torch.optim.Adam(model.parameters())

# %%
for batch in range(3):
    out = model(torch.randn(4, 12, 5))
    loss = nn.functional.binary_cross_entropy_with_logits(out, torch.rand(4, 1).round())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
