# https://stackoverflow.com/questions/57013705/runtimeerror-divbackward0-nan-values-in-its-0th-output-but-works-when-tensors
import torch
import torch.nn as nn

torch.manual_seed(0)


class Seq2Seq(nn.Module):
    def __init__(self, input_size=1, hidden_size=16, horizon=6):
        super().__init__()
        self.encoder = nn.GRU(input_size, hidden_size, batch_first=True)
        self.decoder = nn.GRUCell(1, hidden_size)
        self.out = nn.Linear(hidden_size, 1)
        self.horizon = horizon

    def forward(self, inputs):
        _, hidden = self.encoder(inputs)
        hidden, last = hidden[0], inputs[:, -1]
        outputs = []
        for _ in range(self.horizon):
            hidden = self.decoder(last, hidden)
            last = torch.relu(self.out(hidden))
            outputs.append(last)
        return torch.cat(outputs, dim=1)


def smape_loss(model_outputs, target_outputs):
    numerator = torch.abs(model_outputs - target_outputs)
    denominator = torch.abs(model_outputs) + torch.abs(target_outputs)
    elementwise_smape = torch.div(numerator, denominator)
    nan_mask = torch.isnan(elementwise_smape)
    loss = elementwise_smape[~nan_mask].mean()
    assert ~torch.isnan(loss)
    return loss


def make_series(n_series, length):
    level = torch.rand(n_series, 1) * 3
    series = level + 0.3 * torch.randn(n_series, length)
    return torch.clamp(series, min=0) * (torch.rand(n_series, length) > 0.2)


# %%
history, horizon = 24, 6
series = make_series(32, history + horizon)
inputs, target_outputs = series[:, :history].unsqueeze(-1), series[:, history:]
model = Seq2Seq(horizon=horizon)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

# %%
torch.autograd.set_detect_anomaly(True)
try:
    for epoch in range(5):
        optimizer.zero_grad()
        model_outputs = model(inputs)
        loss = smape_loss(model_outputs, target_outputs)
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
finally:
    torch.autograd.set_detect_anomaly(False)
