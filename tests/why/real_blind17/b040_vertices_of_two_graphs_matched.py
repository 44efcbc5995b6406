# https://github.com/mlelarge/graph_neural_net/pull/37
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def erdos_renyi(bs, n, p=0.5):
    upper = (torch.rand(bs, n, n) < p).float().triu(1)
    return upper + upper.transpose(1, 2)


def pairs(bs, n, noise=0.05):
    """A graph and the same with some edges flipped, each as degrees on the diagonal and edges beside it"""
    g = erdos_renyi(bs, n)
    flips = erdos_renyi(bs, n, noise)
    return [torch.stack([torch.diag_embed(w.sum(-1)), w], dim=1) for w in (g, (g + flips) % 2)]


class MlpBlock_Real(nn.Module):
    def __init__(self, in_features, out_features, depth_of_mlp, activation_fn=F.relu):
        super().__init__()
        self.activation = activation_fn
        self.convs = nn.ModuleList()
        for _ in range(depth_of_mlp):
            self.convs.append(nn.Conv2d(in_features, out_features, kernel_size=1))
            nn.init.xavier_uniform_(self.convs[-1].weight)
            in_features = out_features
        self.gn = nn.InstanceNorm2d(out_features, affine=True)

    def forward(self, inputs):
        out = inputs
        for conv_layer in self.convs[:-1]:
            out = self.activation(conv_layer(out))
        return self.gn(self.convs[-1](out))


class block(nn.Module):
    def __init__(self, in_features, out_features, depth_of_mlp=2):
        super().__init__()
        self.mlp1 = MlpBlock_Real(in_features, out_features, depth_of_mlp)
        self.mlp2 = MlpBlock_Real(in_features, out_features, depth_of_mlp)
        self.mlp3 = MlpBlock_Real(in_features + out_features, out_features, depth_of_mlp)

    def forward(self, x):
        mult = torch.matmul(self.mlp1(x), self.mlp2(x)) / x.size(-1)
        return self.mlp3(torch.cat((x, mult), dim=1))


class Siamese_Node(nn.Module):
    def __init__(self, features=(2, 16, 16)):
        super().__init__()
        self.node_embedder = nn.Sequential(*[block(i, o) for i, o in zip(features[:-1], features[1:])])

    def embed(self, x):
        return self.node_embedder(x).max(dim=-1)[0]

    def forward(self, x1, x2):
        """the scores of all pairs of vertices (bs, n_vertices, n_vertices)"""
        return torch.matmul(self.embed(x1).transpose(1, 2), self.embed(x2))


class triplet_loss(nn.Module):
    def __init__(self, loss_reduction='mean', loss=nn.CrossEntropyLoss(reduction='sum')):
        super(triplet_loss, self).__init__()
        self.loss = loss
        if loss_reduction == 'mean':
            self.increments = lambda new_loss, n_vertices: (new_loss, n_vertices)
        elif loss_reduction == 'mean_of_mean':
            self.increments = lambda new_loss, n_vertices: (new_loss / n_vertices, 1)
        else:
            raise ValueError('Unknown loss_reduction parameters {}'.format(loss_reduction))

    def forward(self, raw_scores):
        loss = 0
        total = 0
        outputs = torch.softmax(raw_scores, -1)
        for out in outputs:
            n_vertices = out.shape[0]
            target = torch.arange(n_vertices)
            incrs = self.increments(self.loss(out, target), n_vertices)
            loss += incrs[0]
            total += incrs[1]
        return loss / total


def accuracy_max(raw_scores):
    n_vertices = raw_scores.shape[-1]
    return (raw_scores.argmax(dim=-1) == torch.arange(n_vertices)).float().mean().item()


# %%
model = Siamese_Node()
criterion = triplet_loss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
losses = []
for step in range(60):
    raw_scores = model(*pairs(bs=8, n=12))
    loss = criterion(raw_scores)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, loss.item(), accuracy_max(raw_scores))
