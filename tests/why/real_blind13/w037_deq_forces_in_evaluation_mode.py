# https://github.com/locuslab/torchdeq/issues/4
import torch

torch.manual_seed(0)


class DEQ(torch.nn.Module):
    """Finds z = f(z) by iteration; the gradient comes from one more step."""

    def __init__(self, f_max_iter=30, f_tol=1e-4):
        super().__init__()
        self.f_max_iter, self.f_tol = f_max_iter, f_tol

    def forward(self, f, z):
        with torch.no_grad():
            for nstep in range(self.f_max_iter):
                z_new = f(z)
                done = (z_new - z).norm() < self.f_tol
                z = z_new
                if done:
                    break
        if self.training:
            z = f(z)
        return [z], {"nstep": nstep}


class MyModel(torch.nn.Module):
    def __init__(self):
        super(MyModel, self).__init__()
        self.encode = torch.nn.Linear(3, 10)
        self.layer = torch.nn.Linear(10, 10)
        torch.nn.init.uniform_(self.layer.weight, -0.05, 0.05)
        # deq
        self.deq = DEQ()

    def implicit_layer(self, z, x):
        return torch.tanh(self.layer(z) + x)

    def forward(self, pos):
        x = self.encode(pos)
        z = torch.zeros_like(x)
        z_pred, info = self.deq(lambda z: self.implicit_layer(z, x), z)
        energy = z_pred[-1].sum()
        forces = -1 * torch.autograd.grad(
            energy,
            # diff with respect to pos
            pos,
            create_graph=self.training,
        )[0]
        return energy, forces


model = MyModel()
pos = torch.randn(5, 3, requires_grad=True)
target = torch.randn(5, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(5):
    energy, forces = model(pos)
    loss = ((forces - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# %%
model.eval()
energy, forces = model(pos)
print(energy.item(), forces)
