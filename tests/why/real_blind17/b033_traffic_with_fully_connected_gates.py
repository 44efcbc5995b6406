# https://github.com/Rose-STL-Lab/torchTS/issues/50
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def random_walk(adj_mx):
    return adj_mx / adj_mx.sum(dim=1, keepdim=True).clamp(min=1)


class DCGRUCell(nn.Module):
    def __init__(self, num_units, adj_mx, max_diffusion_step, num_nodes, input_dim, use_gc_for_ru=True):
        super().__init__()
        self._activation = torch.tanh
        self._num_nodes = num_nodes
        self._num_units = num_units
        self._max_diffusion_step = max_diffusion_step
        self._use_gc_for_ru = use_gc_for_ru
        self.register_buffer("_supports", torch.stack([random_walk(adj_mx).T, random_walk(adj_mx.T).T]))

        num_matrices = len(self._supports) * max_diffusion_step + 1
        input_size_gconv = (num_units + input_dim) * num_matrices
        input_size_ru = input_size_gconv if use_gc_for_ru else num_units + input_dim
        self._ru_weights = nn.Parameter(torch.empty(input_size_ru, 2 * num_units))
        self._ru_biases = nn.Parameter(torch.empty(2 * num_units))
        nn.init.xavier_normal_(self._ru_weights)
        nn.init.constant_(self._ru_biases, 1.0)
        self._gconv_weights = nn.Parameter(torch.empty(input_size_gconv, num_units))
        self._gconv_biases = nn.Parameter(torch.empty(num_units))
        nn.init.xavier_normal_(self._gconv_weights)
        nn.init.constant_(self._gconv_biases, 0.0)

    def forward(self, inputs, hx):
        fn = self._gconv if self._use_gc_for_ru else self._fc
        output_size = 2 * self._num_units
        value = torch.sigmoid(fn(inputs, hx, output_size, reset=True))
        value = torch.reshape(value, (-1, self._num_nodes, output_size))
        r, u = torch.split(tensor=value, split_size_or_sections=self._num_units, dim=-1)
        r = torch.reshape(r, (-1, self._num_nodes * self._num_units))
        u = torch.reshape(u, (-1, self._num_nodes * self._num_units))
        c = self._gconv(inputs, r * hx, self._num_units)
        c = self._activation(c)
        return u * hx + (1.0 - u) * c

    def _fc(self, inputs, state, output_size, reset=True):
        batch_size = inputs.shape[0]
        inputs = torch.reshape(inputs, (batch_size * self._num_nodes, -1))
        state = torch.reshape(state, (batch_size * self._num_nodes, -1))
        x = torch.cat([inputs, state], dim=-1)
        value = torch.sigmoid(torch.matmul(x, self._ru_weights))
        value += self._ru_biases
        return value

    def _gconv(self, inputs, state, output_size, reset=False):
        batch_size = inputs.shape[0]
        inputs = torch.reshape(inputs, (batch_size, self._num_nodes, -1))
        state = torch.reshape(state, (batch_size, self._num_nodes, -1))
        x0 = torch.cat([inputs, state], dim=2)
        matrices = [x0]
        for support in self._supports:
            x1 = support @ x0
            matrices.append(x1)
            x_prev = x0
            for _ in range(2, self._max_diffusion_step + 1):
                x2 = 2 * support @ x1 - x_prev
                matrices.append(x2)
                x1, x_prev = x2, x1
        x = torch.stack(matrices, dim=-1).reshape(batch_size * self._num_nodes, -1)
        weights, biases = ((self._ru_weights, self._ru_biases) if reset
                           else (self._gconv_weights, self._gconv_biases))
        return torch.reshape(x @ weights + biases, [batch_size, self._num_nodes * output_size])


class Forecaster(nn.Module):
    def __init__(self, adj_mx, num_nodes=6, num_units=4, use_gc_for_ru=True):
        super().__init__()
        self.num_nodes, self.num_units = num_nodes, num_units
        self.cell = DCGRUCell(num_units, adj_mx, 2, num_nodes, 1, use_gc_for_ru=use_gc_for_ru)
        self.projection = nn.Linear(num_units, 1)

    def forward(self, x):
        hx = torch.zeros(x.shape[0], self.num_nodes * self.num_units)
        for inputs in x.unbind(dim=1):
            hx = self.cell(inputs, hx)
        return self.projection(hx.reshape(x.shape[0], self.num_nodes, self.num_units)).squeeze(-1)


def fit(model, x, y, max_epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(max_epochs):
        loss = F.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())


adj_mx = (torch.rand(6, 6) < 0.4).float()
speeds = torch.sin(torch.arange(40).view(-1, 1) / 3 + torch.arange(6))
x = torch.stack([speeds[i:i + 8] for i in range(30)])
y = speeds[8:38]

# %%
fit(Forecaster(adj_mx), x, y)

# %%
model = Forecaster(adj_mx, use_gc_for_ru=False)
fit(model, x, y)
