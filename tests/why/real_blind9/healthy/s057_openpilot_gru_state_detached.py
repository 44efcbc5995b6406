# https://github.com/OpenDriveLab/Openpilot-Deepdive/issues/6
import torch
from torch import nn

torch.manual_seed(0)


class SequencePlanningNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(12, 16)
        self.gru = nn.GRU(input_size=16, hidden_size=16, bidirectional=False, batch_first=True)
        self.plan_head = nn.Linear(16, 6)

    def forward(self, x, hidden):
        features = torch.relu(self.backbone(x))
        out, hidden = self.gru(features[:, None, :], hidden)
        return self.plan_head(out[:, 0]), hidden


# %%
model = SequencePlanningNetwork()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
optimize_per_n_step = 5
seq_inputs, seq_labels = torch.randn(4, 15, 12), torch.randn(4, 15, 6)

# %%
hidden = torch.zeros(1, 4, 16)
total_loss = 0
for t in range(seq_inputs.size(1)):
    pred, hidden = model(seq_inputs[:, t], hidden)
    total_loss += (pred - seq_labels[:, t]).abs().mean() / optimize_per_n_step

    if (t + 1) % optimize_per_n_step == 0:
        hidden = hidden.clone().detach()
        optimizer.zero_grad()
        total_loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(t, total_loss.item())
        if t + 1 < seq_inputs.size(1):
            total_loss = 0
