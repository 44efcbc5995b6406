# https://github.com/shenweichen/DeepCTR-Torch/issues/130
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DNN(nn.Module):
    def __init__(self, inputs_dim, hidden_units, init_std=0.0001):
        super(DNN, self).__init__()
        hidden_units = [inputs_dim] + list(hidden_units)
        self.linears = nn.ModuleList(
            [nn.Linear(hidden_units[i], hidden_units[i + 1]) for i in range(len(hidden_units) - 1)])
        for name, tensor in self.linears.named_parameters():
            if 'weight' in name:
                nn.init.normal_(tensor, mean=0, std=init_std)

    def forward(self, inputs):
        for linear in self.linears:
            inputs = F.relu(linear(inputs))
        return inputs


class FM(nn.Module):
    def forward(self, inputs):
        square_of_sum = torch.pow(torch.sum(inputs, dim=1, keepdim=True), 2)
        sum_of_square = torch.sum(inputs * inputs, dim=1, keepdim=True)
        return 0.5 * torch.sum(square_of_sum - sum_of_square, dim=2, keepdim=False)


class BaseModel(nn.Module):
    def __init__(self, vocabulary, n_dense, embedding_dim=4, l2_reg_linear=1e-5, l2_reg_embedding=1e-5, device='cpu'):
        super(BaseModel, self).__init__()
        self.device = device
        self.aux_loss = torch.zeros((1,), device=device)
        self.embedding_dict = nn.ModuleList([nn.Embedding(v, embedding_dim) for v in vocabulary])
        self.linear_model = nn.ModuleList([nn.Embedding(v, 1) for v in vocabulary] + [nn.Linear(n_dense, 1)])
        self.regularization_weight = []
        self.add_regularization_weight(self.embedding_dict.parameters(), l2_reg_embedding)
        self.add_regularization_weight(self.linear_model.parameters(), l2_reg_linear)

    def add_regularization_weight(self, weight_list, weight_decay, p=2):
        self.regularization_weight.append((list(weight_list), weight_decay, p))

    def get_regularization_loss(self, ):
        total_reg_loss = torch.zeros((1,), device=self.device)
        for weight_list, weight_decay, p in self.regularization_weight:
            weight_reg_loss = torch.zeros((1,), device=self.device)
            for w in weight_list:
                if isinstance(w, tuple):
                    l2_reg = torch.norm(w[1], p=p, )
                else:
                    l2_reg = torch.norm(w, p=p, )
                weight_reg_loss = weight_reg_loss + l2_reg
            reg_loss = weight_decay * weight_reg_loss
            total_reg_loss += reg_loss
        return total_reg_loss

    def fit(self, x, y, batch_size=32, epochs=1):
        optim = torch.optim.Adagrad(self.parameters())
        sparse, dense = x
        for epoch in range(epochs):
            total_loss_epoch = 0
            for start in range(0, len(y), batch_size):
                y_batch = y[start:start + batch_size]
                y_pred = self(sparse[start:start + batch_size], dense[start:start + batch_size]).squeeze()

                optim.zero_grad()
                loss = F.binary_cross_entropy(y_pred, y_batch, reduction='sum')
                reg_loss = self.get_regularization_loss()
                total_loss = loss + reg_loss + self.aux_loss
                total_loss_epoch += total_loss.item()
                total_loss.backward(retain_graph=True)
                optim.step()
            print('Epoch {0}/{1} loss: {2: .4f}'.format(epoch + 1, epochs, total_loss_epoch / len(y)))


class DeepFM(BaseModel):
    def __init__(self, vocabulary, n_dense, embedding_dim=4, dnn_hidden_units=(16, 8), l2_reg_dnn=0):
        super(DeepFM, self).__init__(vocabulary, n_dense, embedding_dim)
        self.fm = FM()
        self.dnn = DNN(embedding_dim * len(vocabulary) + n_dense, dnn_hidden_units)
        self.dnn_linear = nn.Linear(dnn_hidden_units[-1], 1, bias=False)

        self.add_regularization_weight(
            filter(lambda x: 'weight' in x[0] and 'bn' not in x[0], self.dnn.named_parameters()), l2_reg_dnn)
        self.add_regularization_weight(self.dnn_linear.weight, l2_reg_dnn)

    def forward(self, sparse, dense):
        fm_input = torch.stack([emb(sparse[:, i]) for i, emb in enumerate(self.embedding_dict)], dim=1)
        logit = sum(emb(sparse[:, i]) for i, emb in enumerate(self.linear_model[:-1])) + self.linear_model[-1](dense)
        logit = logit + self.fm(fm_input)
        dnn_output = self.dnn(torch.cat([fm_input.flatten(1), dense], dim=1))
        logit = logit + self.dnn_linear(dnn_output)
        return torch.sigmoid(logit)


# %%
vocabulary = [10, 6, 20]
sparse = torch.stack([torch.randint(0, v, (160,)) for v in vocabulary], dim=1)
dense = torch.rand(160, 2)
target = ((sparse[:, 0] > 4) ^ (dense[:, 0] > 0.5)).float()
model = DeepFM(vocabulary, n_dense=2)

# %%
model.fit((sparse, dense), target, batch_size=32, epochs=3)
