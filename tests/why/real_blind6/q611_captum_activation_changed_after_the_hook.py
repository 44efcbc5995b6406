# https://github.com/meta-pytorch/captum/issues/156
import torch
import torch.nn as nn

torch.manual_seed(23)
model = nn.Sequential(nn.Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)),
                      nn.ReLU(inplace=True),
                      nn.Conv2d(4, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)),
                      nn.Softplus())
saved = []


def forward_hook(module, inp, out):
    saved.append(out)


# %%
handle = model[0].register_forward_hook(forward_hook)
input = torch.randn(1, 3, 5, 5)
model(input)
handle.remove()
mylayer = model[0]
print(torch.norm(mylayer(input) - saved[0], p=2))
