# https://github.com/rezaakb/pinns-torch/issues/12
import torch
import torch.nn as nn

torch.manual_seed(0)


class FCN(nn.Module):
    def __init__(self, layers, lb, ub, output_names):
        super().__init__()
        self.lb, self.ub, self.output_names = lb, ub, output_names
        net = []
        for i in range(len(layers) - 2):
            net += [nn.Linear(layers[i], layers[i + 1]), nn.Tanh()]
        self.model = nn.Sequential(*net, nn.Linear(layers[-2], layers[-1]))

    def forward(self, spatial, time):
        z = torch.cat([*spatial, time], 1)
        z = 2.0 * (z - self.lb) / (self.ub - self.lb) - 1.0
        z = self.model(z)
        return {name: z[:, i : i + 1] for i, name in enumerate(self.output_names)}


def gradient(dy, dx):
    (dy_dx,) = torch.autograd.grad([dy], [dx], grad_outputs=[torch.ones_like(dy)], create_graph=True)
    return dy_dx


def output_fn(outputs, x, y, t):
    """Define `output_fn` function that will be applied to outputs of net."""
    outputs["u"] = gradient(outputs["psi"], y)
    outputs["v"] = -gradient(outputs["psi"], x)
    return outputs


def pde_fn(outputs, x, y, t, extra_variables):
    """Define the partial differential equations (PDEs)."""
    u_x, u_y, u_t = gradient(outputs["u"], x), gradient(outputs["u"], y), gradient(outputs["u"], t)
    u_xx, u_yy = gradient(u_x, x), gradient(u_y, y)
    p_x = gradient(outputs["p"], x)
    outputs["f_u"] = (u_t + extra_variables["l1"] * (outputs["u"] * u_x + outputs["v"] * u_y)
                      + p_x - extra_variables["l2"] * (u_xx + u_yy))
    return outputs


class PINNModule:
    def __init__(self, net, pde_fn, output_fn, extra_variables):
        self.net, self.pde_fn, self.output_fn = net, pde_fn, output_fn
        self.extra_variables = {k: nn.Parameter(torch.tensor(v)) for k, v in extra_variables.items()}

    def configure_optimizers(self):
        return torch.optim.Adam([*self.net.parameters(), *self.extra_variables.values()], lr=1e-3)

    def forward(self, batch):
        x, y, t = (c.requires_grad_(True) for c in batch["inputs"])
        return self.output_fn(self.net([x, y], t), x, y, t), (x, y, t)

    def training_step(self, batch):
        preds, (x, y, t) = self.forward(batch)
        preds = self.pde_fn(preds, x, y, t, self.extra_variables)
        loss = preds["f_u"].pow(2).mean()
        for name in ("u", "v"):
            loss = loss + (preds[name] - batch["solution"][name]).pow(2).mean()
        return loss

    def validation_step(self, batch):
        with torch.enable_grad():
            preds, _ = self.forward(batch)
        return {name: ((preds[name] - target).norm() / target.norm()).item()
                for name, target in batch["solution"].items()}


class Trainer:
    def __init__(self, max_epochs, inference_mode=True):
        self.max_epochs = max_epochs
        self.inference_mode = inference_mode

    def fit(self, model, datamodule):
        optimizer = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            loss = model.training_step(datamodule(64))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("train/loss", loss.item())

    def validate(self, model, datamodule):
        context = torch.inference_mode() if self.inference_mode else torch.no_grad()
        with context:
            return model.validation_step(datamodule(64))


def datamodule(n):
    x, y, t = torch.rand(n, 1), torch.rand(n, 1), torch.rand(n, 1)
    decay = torch.exp(-0.02 * t)
    return {"inputs": (x, y, t),
            "solution": {"u": -torch.cos(x) * torch.sin(y) * decay, "v": torch.sin(x) * torch.cos(y) * decay}}


# %%
net = FCN([3, 20, 20, 2], lb=torch.zeros(3), ub=torch.ones(3), output_names=["psi", "p"])
model = PINNModule(net, pde_fn, output_fn, extra_variables={"l1": 0.0, "l2": 0.0})

# %%
trainer = Trainer(max_epochs=50)
trainer.fit(model, datamodule)

# %%
print(trainer.validate(model, datamodule))
