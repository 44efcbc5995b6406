# https://github.com/alibaba/TinyNeuralNetwork/issues/238
import torch
import torch.nn as nn

torch.manual_seed(0)


class FakeQuantize(nn.Module):
    def __init__(self, scale=2 / 255):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, self.scale, 0, -128, 127)


class GRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.igates = nn.Linear(input_size, 3 * hidden_size)
        self.hgates = nn.Linear(hidden_size, 3 * hidden_size)
        self.fake_quant = FakeQuantize()

    def forward(self, x, hidden):
        ri, zi, ni = self.igates(x).chunk(3, dim=-1)
        rh, zh, nh = self.hgates(hidden).chunk(3, dim=-1)
        r, z = torch.sigmoid(ri + rh), torch.sigmoid(zi + zh)
        n = torch.tanh(ni + r * nh)
        return self.fake_quant((1 - z) * n + z * hidden)


class GRU(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers=1):
        super().__init__()
        self.num_layers, self.hidden_size = num_layers, hidden_size
        self.layers = nn.ModuleList([GRUCell(input_size if i == 0 else hidden_size, hidden_size)
                                     for i in range(num_layers)])

    def forward(self, x, hx=None):
        if hx is None:
            hx = x.new_zeros(self.num_layers, x.size(0), self.hidden_size)
        hx = hx.unbind(0)
        hx = [(hx[idx].squeeze_(0)) for idx in range(self.num_layers)]
        outputs = []
        for x_t in x.unbind(1):
            for idx, layer in enumerate(self.layers):
                hx[idx] = x_t = layer(x_t, hx[idx])
            outputs.append(x_t)
        return torch.stack(outputs, dim=1), torch.stack(hx)


class CrnnKwsCleanModel(nn.Module):
    def __init__(self, n_mels=20, n_words=6, hidden_size=24):
        super().__init__()
        self.fake_quant_0 = FakeQuantize()
        self.fake_quant_2 = FakeQuantize()
        self.conv = nn.Conv1d(n_mels, 16, 5, stride=2)
        self.rnn_state = nn.Parameter(0.1 * torch.randn(2, 1, hidden_size))
        self.kws_predictor_rnn = GRU(16, hidden_size, num_layers=2)
        self.kws_predictor_fc = nn.Linear(hidden_size, n_words)

    def forward(self, mels):
        features = torch.relu(self.conv(self.fake_quant_0(mels)))
        reshape_0_f = features.transpose(1, 2)
        hx = self.fake_quant_2(self.rnn_state.expand(-1, mels.size(0), -1))
        out, _ = self.kws_predictor_rnn(reshape_0_f, hx)
        return self.kws_predictor_fc(out[:, -1])


# %%
model = CrnnKwsCleanModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
with torch.no_grad():
    print(model.eval()(torch.randn(2, 20, 30)).shape)

# %%
model.train()
for step in range(3):
    mels, words = torch.rand(8, 20, 30) * 2 - 1, torch.randint(0, 6, (8,))
    loss = nn.functional.cross_entropy(model(mels), words)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
