# https://github.com/divelab/DIG/issues/164
from math import pi as PI

import torch
import torch.nn as nn

torch.manual_seed(0)


class Envelope(torch.nn.Module):
    def __init__(self, exponent):
        super(Envelope, self).__init__()
        self.p = exponent + 1
        self.a = -(self.p + 1) * (self.p + 2) / 2
        self.b = self.p * (self.p + 2)
        self.c = -self.p * (self.p + 1) / 2

    def forward(self, x):
        p, a, b, c = self.p, self.a, self.b, self.c
        x_pow_p0 = x.pow(p - 1)
        x_pow_p1 = x_pow_p0 * x
        x_pow_p2 = x_pow_p1 * x
        return 1. / x + a * x_pow_p0 + b * x_pow_p1 + c * x_pow_p2


class dist_emb(torch.nn.Module):
    def __init__(self, num_radial, cutoff=5.0, envelope_exponent=5):
        super(dist_emb, self).__init__()
        self.cutoff = cutoff
        self.envelope = Envelope(envelope_exponent)

        self.freq = torch.nn.Parameter(torch.Tensor(num_radial))

        self.reset_parameters()

    def reset_parameters(self):
        torch.arange(1, self.freq.numel() + 1, out=self.freq).mul_(PI)

    def forward(self, dist):
        dist = dist.unsqueeze(-1) / self.cutoff
        return self.envelope(dist) * (self.freq * dist).sin()


class ST_Net_Exp(nn.Module):
    def __init__(self, input_dim, output_dim, hid_dim=64):
        super(ST_Net_Exp, self).__init__()
        self.output_dim = output_dim
        self.linear1 = nn.Linear(input_dim, hid_dim)
        self.linear2 = nn.Linear(hid_dim, output_dim * 2)
        self.tanh = nn.Tanh()

    def forward(self, x):
        x = self.linear2(self.tanh(self.linear1(x)))
        return torch.tanh(x[:, :self.output_dim]), x[:, self.output_dim:]


def flow_reverse(flow_layers, latent, feat):
    for i in reversed(range(len(flow_layers))):
        s, t = flow_layers[i](feat)
        s = s.exp()
        latent = (latent / s) - t
    return latent


class SphGen(torch.nn.Module):
    def __init__(self, cutoff, num_node_types, num_radial, hidden_channels, num_flow_layers):
        super(SphGen, self).__init__()
        self.num_node_types = num_node_types
        self.dist_emb = dist_emb(num_radial, cutoff)
        self.node_emb = nn.Embedding(num_node_types, hidden_channels)
        self.lin_dist = nn.Linear(num_radial, hidden_channels)
        self.node_flow_layers = nn.ModuleList([ST_Net_Exp(hidden_channels, num_node_types) for _ in range(num_flow_layers)])
        self.dist_flow_layers = nn.ModuleList([ST_Net_Exp(hidden_channels, 1) for _ in range(num_flow_layers)])

    def generate(self, num_gen, temperature=(1.0, 1.0), max_atoms=4):
        z = torch.zeros(num_gen, 1, dtype=torch.long)
        pos = torch.zeros(num_gen, 1)
        for i in range(max_atoms):
            dist_to_last = (pos - pos[:, -1:]).abs() + 0.1
            node_feat = (self.node_emb(z) * self.lin_dist(self.dist_emb(dist_to_last))).sum(1)
            latent_node = temperature[0] * torch.randn(num_gen, self.num_node_types)
            node_type_id = torch.argmax(flow_reverse(self.node_flow_layers, latent_node, node_feat), dim=1)
            dist = flow_reverse(self.dist_flow_layers, temperature[1] * torch.randn(num_gen, 1), node_feat).abs() + 0.5
            z = torch.cat((z, node_type_id[:, None]), dim=1)
            pos = torch.cat((pos, pos[:, -1:] + dist), dim=1)
        return {'_atomic_numbers': z.numpy(), '_positions': pos.detach().numpy()}


class G_SphereNet():
    def __init__(self):
        self.model = None

    def get_model(self, model_conf_dict):
        self.model = SphGen(**model_conf_dict)

    def generate(self, model_conf_dict, n_mols=10, chunk_size=5, temperature=(1.0, 1.0)):
        self.get_model(model_conf_dict)
        mols = []
        while 5 * len(mols) < n_mols:
            mols.append(self.model.generate(chunk_size, temperature))
        return mols


# %%
conf = {'model': {'cutoff': 5.0, 'num_node_types': 5, 'num_radial': 6, 'hidden_channels': 16, 'num_flow_layers': 2},
        'chunk_size': 5}
runner = G_SphereNet()

# %%
mol_dicts = runner.generate(model_conf_dict=conf['model'], n_mols=10, chunk_size=conf['chunk_size'])
print(len(mol_dicts), mol_dicts[0]['_atomic_numbers'])
