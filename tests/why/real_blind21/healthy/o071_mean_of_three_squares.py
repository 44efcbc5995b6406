# https://whosebug.com/question/4883527/autograd-differentiation-example-in-PyTorch-should-be-9-8
import torch

torch.manual_seed(0)

# define graph
x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = y * y * 3
out = z.mean()

# if we don't do this, torch will only retain gradients for leaf nodes, ie: x
y.retain_grad()
z.retain_grad()

# does a forward pass
print(z, out)

# %%
# now let's run our backward prop & get gradients
out.backward()
print(f'do/dz = {z.grad[0, 0]}')
print(f'do/dy = {y.grad[0, 0]}')
print(f'do/dx = {x.grad[0, 0]}')

# %%
# by the chain rule: do/dz = 1/4, dz/dy = 6y = 18, dy/dx = 1
do_dz = 1 / 4
dz_dy = 6 * y[0, 0].item()
dy_dx = 1
do_dx = do_dz * dz_dy * dy_dx
print(f'by hand do/dx = {do_dx}')

assert z.grad[0, 0].item() == do_dz
assert abs(x.grad[0, 0].item() - do_dx) < 1e-6
assert torch.equal(x.grad, y.grad)
