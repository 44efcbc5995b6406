# https://github.com/ultralytics/yolov5/issues/1213
import torch
import torch.nn as nn
import torch.optim as optim


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3))

    def forward(self, x):
        return self.model(x)


model = Model()

# %%
# Freeze
freeze = ['model.0.weight', 'model.0.bias']  # parameter names to freeze (full or partial)
if any(freeze):
    for k, v in model.named_parameters():
        if any(x in k for x in freeze):
            print('freezing %s' % k)
            v.requires_grad = False

# Optimizer
pg0, pg1, pg2 = [], [], []  # optimizer parameter groups
for k, v in model.named_parameters():
    v.requires_grad = True
    if '.bias' in k:
        pg2.append(v)  # biases
    elif '.weight' in k and '.bn' not in k:
        pg1.append(v)  # apply weight decay
    else:
        pg0.append(v)  # all else
optimizer = optim.SGD(pg1, lr=0.01)
optimizer.add_param_group({'params': pg2})

# %%
loss = model(torch.randn(2, 3, 8, 8)).pow(2).mean()
loss.backward()
optimizer.step()
print(model.model[0].weight.requires_grad)
