# https://github.com/zjunlp/HVPNeT/issues/5
import torch
import torch.nn as nn


class HMNeTNERModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = nn.Linear(4, 8)
        self.encoder_conv = nn.Linear(8, 8)
        self.fc = nn.Linear(8, 3)
        self.crf = nn.Linear(3, 3)

    def forward(self, x):
        return self.crf(self.fc(torch.relu(self.encoder_conv(self.bert(x)))))


model = HMNeTNERModel()

# %%
parameters = []
params = {'lr': 1e-3, 'weight_decay': 1e-2}
params['params'] = []
for name, param in model.named_parameters():
    if 'bert' in name:
        params['params'].append(param)
parameters.append(params)

params = {'lr': 1e-3, 'weight_decay': 1e-2}
params['params'] = []
for name, param in model.named_parameters():
    if 'encoder_conv' in name:
        params['params'].append(param)
parameters.append(params)

params = {'lr': 5e-2, 'weight_decay': 1e-2}
params['params'] = []
for name, param in model.named_parameters():
    if 'crf' in name or name.startswith('fc'):
        params['params'].append(param)
optimizer = torch.optim.AdamW(parameters)

# %%
before = model.fc.weight.detach().clone()
loss = model(torch.randn(5, 4)).pow(2).mean()
loss.backward()
optimizer.step()
print(torch.equal(before, model.fc.weight), model.fc.weight.grad is None)
