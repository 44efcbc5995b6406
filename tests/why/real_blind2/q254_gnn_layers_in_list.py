# https://github.com/qbxlvnf11/graph-neural-networks-for-graph-classification/pull/3
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim import lr_scheduler


class GraphConvolutionLayer(nn.Module):
    def __init__(self, in_features, out_features, device, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features).to(device))
        self.bias = nn.Parameter(torch.zeros(out_features).to(device))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.matmul(adj, torch.matmul(x, self.weight)) + self.bias


def readout_function(x, readout):
    if readout == 'max':
        return torch.max(x, dim=1)[0]
    return torch.mean(x, dim=1) if readout == 'avg' else torch.sum(x, dim=1)


class GCN(nn.Module):
    def __init__(self, n_feat, n_class, n_layer, agg_hidden, fc_hidden, dropout, readout, device):
        super(GCN, self).__init__()
        self.n_layer = n_layer
        self.dropout = dropout
        self.readout = readout

        # Graph convolution layer
        self.graph_convolution_layers = []
        for i in range(self.n_layer):
            if i == 0:
                self.graph_convolution_layers.append(GraphConvolutionLayer(n_feat, agg_hidden, device))
            else:
                self.graph_convolution_layers.append(GraphConvolutionLayer(agg_hidden, agg_hidden, device))

        # Fully-connected layer
        self.fc1 = nn.Linear(agg_hidden, fc_hidden)
        self.fc2 = nn.Linear(fc_hidden, n_class)

    def forward(self, data):
        x, adj = data[:2]
        for i in range(self.n_layer):
            x = F.relu(self.graph_convolution_layers[i](x, adj))
            # Dropout
            if i != self.n_layer - 1:
                F.dropout(x, p=self.dropout, training=self.training)
        x = readout_function(x, self.readout)
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=1)


# %%
device = 'cpu'
model = GCN(n_feat=5, n_class=2, n_layer=2, agg_hidden=8, fc_hidden=6, dropout=0.1, readout='avg', device=device).to(device)
c = 0
for p in filter(lambda p: p.requires_grad, model.parameters()):
    c += p.numel()
print('N trainable parameters:', c)
optimizer = optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=0.01, betas=(0.5, 0.999))
scheduler = lr_scheduler.MultiStepLR(optimizer, [20, 30], gamma=0.1)
loss_fn = F.cross_entropy

adj = (torch.rand(6, 7, 7) > 0.5).float()
adj = (adj + adj.transpose(1, 2)).clamp(max=1)
train_loader = [[torch.rand(6, 7, 5), adj / adj.sum(-1, keepdim=True).clamp(min=1), torch.randint(2, (6,))]]
first = model.graph_convolution_layers[0].weight.detach().clone()

# %%
for epoch in range(3):
    model.train()
    for batch_idx, data in enumerate(train_loader):
        optimizer.zero_grad()
        output = model(data)
        loss = loss_fn(output, data[2])
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(epoch, loss.item())
print((model.graph_convolution_layers[0].weight - first).abs().max())
