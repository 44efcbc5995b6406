# https://github.com/mikeizbicki/cmc-csci181-deeplearning/issues/7
from types import SimpleNamespace

import torch
from torch import nn

args = SimpleNamespace(hidden_layer_size=8, num_layers=2, input_length=5, batch_size=3)
vocabulary, all_categories = "abcdef", ["x", "y"]


class CNNModel(nn.Module):
    def _init_(self):
        super(CNNModel, self)._init_()
        self.relu = nn.RELU()
        self.cnn = nn.Conv1d(len(vocabulary), args.hidden_layer_size, 3, padding=1)
        self.cnns = (args.num_layers - 1) * [nn.Conv1d(args.hidden_layer_size, args.hidden_layer_size, 3, padding=1)]
        self.fc = nn.Linear(args.hidden_layer_size * args.input_length, len(all_categories))

    def forward(self, x):
        out = torch.einsum('lbv->bvl', x)
        out = self.cnn(out)
        out = self.relu(out)
        for cnn in self.cnns:
            out = cnn(out)
            out = self.relu(out)
        out = out.view(args.batch_size, args.hidden_layer_size * args.input_length)
        out = self.fc(out)
        return out


# %%
model = CNNModel()

# %%
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.0)
