# https://github.com/cvignac/DiGress/issues/27
import torch
import torch.nn as nn
import torch.nn.functional as F


class Xtoy(nn.Module):
    def __init__(self, dx, dy):
        super().__init__()
        self.lin = nn.Linear(4 * dx, dy)

    def forward(self, X):
        return self.lin(torch.hstack((X.mean(1), X.min(1)[0], X.max(1)[0], X.std(1))))


class NodeEdgeBlock(nn.Module):
    def __init__(self, dx, de, dy):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dx, dx), nn.Linear(dx, dx), nn.Linear(dx, dx)
        self.e_mul, self.e_add = nn.Linear(de, dx), nn.Linear(de, dx)
        self.y_e_add, self.y_x_add = nn.Linear(dy, dx), nn.Linear(dy, dx)
        self.y_y, self.x_y = nn.Linear(dy, dy), Xtoy(dx, dy)
        self.x_out, self.e_out = nn.Linear(dx, dx), nn.Linear(dx, de)
        self.y_out = nn.Sequential(nn.Linear(dy, dy), nn.ReLU(), nn.Linear(dy, dy))

    def forward(self, X, E, y):
        Y = self.q(X).unsqueeze(2) * self.k(X).unsqueeze(1)
        Y = Y * (self.e_mul(E) + 1) + self.e_add(E)
        newE = self.e_out(Y + self.y_e_add(y)[:, None, None])
        weighted_V = (Y.softmax(dim=2) * self.v(X).unsqueeze(1)).sum(dim=2)
        newX = self.x_out(weighted_V + self.y_x_add(y).unsqueeze(1))
        new_y = self.y_out(self.y_y(y) + self.x_y(X))
        return newX, newE, new_y


class XEyTransformerLayer(nn.Module):
    def __init__(self, dx, de, dy):
        super().__init__()
        self.self_attn = NodeEdgeBlock(dx, de, dy)
        self.normX1, self.normE1, self.norm_y1 = nn.LayerNorm(dx), nn.LayerNorm(de), nn.LayerNorm(dy)
        self.linX1, self.linE1, self.lin_y1 = nn.Linear(dx, dx), nn.Linear(de, de), nn.Linear(dy, dy)

    def forward(self, X, E, y):
        newX, newE, new_y = self.self_attn(X, E, y)
        X, E, y = self.normX1(X + newX), self.normE1(E + newE), self.norm_y1(y + new_y)
        return X + F.relu(self.linX1(X)), E + F.relu(self.linE1(E)), y + F.relu(self.lin_y1(y))


class GraphTransformer(nn.Module):
    def __init__(self, n_layers, input_dims, hidden_dims, output_dims):
        super().__init__()
        self.mlp_in_X = nn.Linear(input_dims['X'], hidden_dims['dx'])
        self.mlp_in_E = nn.Linear(input_dims['E'], hidden_dims['de'])
        self.mlp_in_y = nn.Linear(input_dims['y'], hidden_dims['dy'])
        self.tf_layers = nn.ModuleList([XEyTransformerLayer(**hidden_dims) for i in range(n_layers)])
        self.mlp_out_X = nn.Linear(hidden_dims['dx'], output_dims['X'])
        self.mlp_out_E = nn.Linear(hidden_dims['de'], output_dims['E'])
        self.mlp_out_y = nn.Linear(hidden_dims['dy'], output_dims['y'])

    def forward(self, X, E, y):
        X, E, y = self.mlp_in_X(X), self.mlp_in_E(E), self.mlp_in_y(y)
        for layer in self.tf_layers:
            X, E, y = layer(X, E, y)
        return self.mlp_out_X(X), self.mlp_out_E(E), self.mlp_out_y(y)


class TrainLossDiscrete(nn.Module):
    def __init__(self, lambda_train):
        super().__init__()
        self.lambda_train = lambda_train

    def forward(self, pred_X, pred_E, pred_y, true_X, true_E, true_y):
        loss_X = F.cross_entropy(pred_X.flatten(0, 1), true_X.flatten())
        loss_E = F.cross_entropy(pred_E.flatten(0, 2), true_E.flatten())
        loss_y = F.mse_loss(pred_y, true_y) if true_y.numel() > 0 else 0.0
        return loss_X + self.lambda_train[0] * loss_E + self.lambda_train[1] * loss_y


# %%
bs, n = 3, 5
dense_X, dense_E = torch.randint(4, (bs, n)), torch.randint(2, (bs, n, n))
data_y = torch.zeros(bs, 0)
model = GraphTransformer(2, {'X': 4, 'E': 2, 'y': 1}, {'dx': 8, 'de': 6, 'dy': 6},
                         {'X': 4, 'E': 2, 'y': data_y.shape[1]})
train_loss = TrainLossDiscrete(lambda_train=[5, 1])
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, amsgrad=True, weight_decay=1e-12)
t_float = torch.rand(bs, 1)

# %%
pred = model(F.one_hot(dense_X, 4).float(), F.one_hot(dense_E, 2).float(), t_float)
loss = train_loss(*pred, dense_X, dense_E, data_y)
loss.backward()
for name, p in model.named_parameters():
    if '_y' in name:
        print(f'name: {name}, requires {p.requires_grad}, grad, {p.grad}\n')
optimizer.step()
