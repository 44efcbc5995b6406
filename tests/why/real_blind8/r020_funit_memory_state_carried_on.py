# https://github.com/NVlabs/FUNIT/issues/23
import torch
import torch.nn as nn

torch.manual_seed(0)
batch_size = 8
train_loader = [(torch.randn(batch_size, 12), torch.randint(0, 10, (batch_size,))) for _ in range(4)]


class memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.controller = nn.LSTMCell(12, 16)
        self.write = nn.Linear(16, 16)
        self.read = nn.Linear(32, 10)

    def zero_state(self, batch_size):
        return torch.zeros(batch_size, 16), torch.zeros(batch_size, 16), torch.zeros(batch_size, 16)

    def forward(self, data, state):
        h, c, M = state
        h, c = self.controller(data, (h, c))
        M = 0.9 * M + torch.tanh(self.write(h))
        return (h, c, M), self.read(torch.cat([h, M], 1))


# %%
def train(model, device, train_loader, optimizer, epoch):
    global batch_size
    # model.train()
    state = model.zero_state(batch_size)
    for batch_idx, (data, target) in enumerate(train_loader):
        print(f"The batch_idx value is {batch_idx}")
        data, target = data.to(device), target.to(device)

        next_state,output = model(data, state)
        loss = nn.CrossEntropyLoss()(output, target).clone()
        # torch.autograd.set_detect_anomaly(True)
        loss.backward(retain_graph = True)
        optimizer.step()
        optimizer.zero_grad()
        state = next_state
        if batch_size % 32 == 0:
            print('Train Epoch: {} Loss: {:.6f}'.format(epoch, loss.item()))


# %%
model = memory()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train(model, "cpu", train_loader, optimizer, 1)
