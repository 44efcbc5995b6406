# https://blog.youkuaiyun.com/windhawk_fly/article/details/143405685
import torch
from torch import nn

torch.manual_seed(0)
EPOCH, num_layers, batch_size, hidden_dim, embedding_dim, batch_count = 2, 2, 4, 16, 6, 5


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, embedding_dim)

    def forward(self, x, h0, c0):
        output, state = self.lstm(x, (h0, c0))
        return self.fc(output), state


lstm = LSTM()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(lstm.parameters(), lr=1e-2)
data_loader = [(torch.randn(batch_size, 8, embedding_dim), torch.randint(0, embedding_dim, (batch_size * 8,)))
               for _ in range(batch_count)]

# %%
for epoch in range(EPOCH):
    batch_num = 0
    h0 = torch.randn((num_layers, batch_size, hidden_dim), requires_grad=False)
    c0 = torch.randn((num_layers, batch_size, hidden_dim), requires_grad=False)
    for batch in data_loader:
        optimizer.zero_grad()
        output, (h0, c0) = lstm(batch[0], h0, c0)
        loss = loss_fn(output.reshape(-1,embedding_dim), batch[1])
        loss.backward(retain_graph=True)
        optimizer.step()
        batch_num += 1
        if (batch_num) % min(10, batch_count // 2) == 0:
            print(f'epoch {epoch} : batch {batch_num} : {loss.item():.4f}')
