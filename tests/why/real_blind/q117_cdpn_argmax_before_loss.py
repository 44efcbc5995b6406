# https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4
import torch
from torch import nn

net = nn.Conv2d(4, 3 * 65, 1)
coor_bin = 64
target = torch.randint(0, 64, (8, 8, 3))

# %%
out = net(torch.randn(1, 4, 8, 8)).view(3, 65, 8, 8)
output_coor_x_, output_coor_y_, output_coor_z_ = out
output_coor_x_ = output_coor_x_.squeeze()
output_coor_y_ = output_coor_y_.squeeze()
output_coor_z_ = output_coor_z_.squeeze()

####

# %%
output_coor_ = torch.stack([torch.argmax(output_coor_x_, axis=0),
                            torch.argmax(output_coor_y_, axis=0),
                            torch.argmax(output_coor_z_, axis=0)], axis=2)
output_coor_[output_coor_ == coor_bin] = 0
output_coor_ = 2.0 * output_coor_.float() / (63.0 - 1.0) - 1.0  # [-1,1]

# %%
loss = nn.functional.l1_loss(output_coor_, 2.0 * target.float() / 62.0 - 1.0)
loss.backward()
