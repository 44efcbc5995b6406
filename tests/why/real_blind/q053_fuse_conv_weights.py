# https://github.com/PingoLH/FCHarDNet/issues/61
import torch
import torch.nn as nn

conv = nn.Conv2d(3, 4, 3, bias=False)
bn = nn.BatchNorm2d(4).eval()

# %%
# fuse bn into conv
W = conv.weight * (bn.weight / torch.sqrt(bn.running_var + bn.eps)).view(-1, 1, 1, 1)
B = bn.bias - bn.weight * bn.running_mean / torch.sqrt(bn.running_var + bn.eps)
cconv = nn.Conv2d(3, 4, 3, bias=True)

# %%
cconv.weight[:,:,:,:] = W[:,:,:,:]
cconv.bias[:] = B[:]
print(cconv(torch.randn(1, 3, 5, 5)).shape)
