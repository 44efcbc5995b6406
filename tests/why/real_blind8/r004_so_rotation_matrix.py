# https://stackoverflow.com/questions/59387182
import torch
from torch import cos, sin

torch.manual_seed(0)

# %%
roll = yaw = pitch = torch.randn(1,requires_grad=True)
RX = torch.tensor([
                [1, 0, 0],
                [0, cos(roll), -sin(roll)],
                [0, sin(roll), cos(roll)]
            ],requires_grad=True)
RY = torch.tensor([
                [cos(pitch), 0, sin(pitch)],
                [0, 1, 0],
                [-sin(pitch), 0, cos(pitch)]
            ],requires_grad=True)
RZ = torch.tensor([
                [cos(yaw), -sin(yaw), 0],
                [sin(yaw), cos(yaw), 0],
                [0, 0, 1]
            ],requires_grad=True)
R = torch.mm(RZ, RY).requires_grad_()
R = torch.mm(R, RX).requires_grad_()
R = R.mean().requires_grad_()
R.backward()
print(roll.grad, yaw.grad, pitch.grad)
