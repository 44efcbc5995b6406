# https://github.com/mazzzystar/randomCNN-voice-transfer/issues/16
import torch
from torch.autograd import Variable

a_C_var = torch.randn(1, 1, 8, 6)

# %%
a_G_var = Variable(torch.randn(a_C_var.shape) * 1e-3, requires_grad=True).to("cpu", copy=True)
print(a_G_var.shape)

# %%
optimizer = torch.optim.Adam([a_G_var])
