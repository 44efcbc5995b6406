# https://discuss.pytorch.org/t/why-backward-is-giving-different-gradients-as-compared-to-analytical-computation-when-retain-graph-true
import torch
import torch.nn.functional as F

torch.manual_seed(0)

alpha = 0.001


def analytical(x, y):
    # grad1 = -6 * (y - 3x), x2 = x + 0.001 * grad1, final = (3x + 3 * x2) / 2 = 3x + 0.027x - 0.009y
    final_p = 3 * x + 0.027 * x - 0.009 * y
    loss = (y - final_p) ** 2
    # d final / dx = 3.027
    grad_x = 2 * (y - final_p) * (-3.027)
    return final_p, loss, grad_x


# %%
X = torch.ones(1).requires_grad_()
Y1 = torch.ones(1).requires_grad_() * 4
Y2 = torch.ones(1).requires_grad_() * 4

p_y1 = 3 * X
l1 = F.mse_loss(p_y1, Y1)
grad = torch.autograd.grad(l1, [X], retain_graph=True)[0]
print("grad1:", grad)

nX = X + grad.data * alpha
p_y2 = 3 * nX
final_y = (p_y1 + p_y2) / 2
print("Final_y:", final_y)

# %%
l2 = F.mse_loss(final_y, Y2)
grad = torch.autograd.grad(l2, [X])[0]
print("Loss: ", l2, "Final grad: ", grad)

final_p, loss, grad_x = analytical(1.0, 4.0)
print("Analytically: Final_y:", final_p, "Loss:", loss, "Final grad:", grad_x)
difference = abs(grad.item() - grad_x)
print("Difference:", difference)
