# https://github.com/APPFL/APPFL/issues/197
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
from torch.optim import *
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class BaseClient:
    def __init__(self, id, weight, model, loss_fn, dataloader, cfg):
        self.id = id
        self.weight = weight
        self.model = model
        self.loss_fn = loss_fn
        self.dataloader = dataloader
        self.cfg = cfg
        self.round = 0

    def client_log_content(self, epoch, train_loss):
        print(f"client {self.id} round {self.round} epoch {epoch} loss {train_loss:.4f}")

    def laplace_mechanism_output_perturb(self, scale_value):
        for name, param in self.primal_state.items():
            noise = torch.distributions.Laplace(0.0, scale_value).sample(param.shape)
            self.primal_state[name] = param + noise


class ClientOptim(BaseClient):
    """This client optimizer performs updates for a number of epochs in each training round."""

    def __init__(self, id, weight, model, loss_fn, dataloader, cfg, **kwargs):
        super(ClientOptim, self).__init__(id, weight, model, loss_fn, dataloader, cfg)
        self.__dict__.update(kwargs)

    def update(self):
        optimizer = eval(self.optim)(self.model.parameters(), **vars(self.optim_args))

        ## Local training
        for t in range(self.num_local_epochs):
            train_loss = 0
            for data, target in self.dataloader:
                optimizer.zero_grad()
                output = self.model(data)
                loss = self.loss_fn(output, target)
                loss.backward()
                optimizer.step()
                train_loss += loss.item()
                if self.clip_grad or self.use_dp:
                    torch.nn.utils.clip_grad_norm_(
                        self.model.parameters(),
                        self.clip_value,
                        norm_type=self.clip_norm,
                    )
            self.client_log_content(t + 1, train_loss / len(self.dataloader))
        self.round += 1

        ## Differential Privacy
        self.primal_state = copy.deepcopy(self.model.state_dict())
        if self.use_dp:
            sensitivity = 2.0 * self.clip_value * self.optim_args.lr
            scale_value = sensitivity / self.epsilon
            self.laplace_mechanism_output_perturb(scale_value)
        return self.primal_state


class FedAvg:
    def __init__(self, weights, model):
        self.weights = weights
        self.model = model

    def update(self, local_states):
        averaged = {name: sum(w * state[name] for w, state in zip(self.weights, local_states))
                    for name in self.model.state_dict()}
        self.model.load_state_dict(averaged)


def readings(shift):
    x = torch.randn(32, 5) * 20 + shift
    return DataLoader(TensorDataset(x, x @ torch.tensor([[1.0], [-2.0], [0.5], [0.0], [3.0]])), batch_size=32)


# %%
cfg = SimpleNamespace(
    num_epochs=3,
    fed_args=SimpleNamespace(optim="SGD", num_local_epochs=1, optim_args=SimpleNamespace(lr=0.001), clip_grad=True,
                             clip_value=10.0, clip_norm=2, use_dp=False, epsilon=1.0))
model = nn.Linear(5, 1)
server = FedAvg([0.5, 0.5], model)
clients = [ClientOptim(k, 0.5, copy.deepcopy(model), nn.MSELoss(), readings(float(k)), cfg, **vars(cfg.fed_args))
           for k in range(2)]

# %%
moved = []
for epoch in range(cfg.num_epochs):
    start = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    for client in clients:
        client.model.load_state_dict(model.state_dict())
    local_states = [client.update() for client in clients]
    for client in clients:
        moved.append((nn.utils.parameters_to_vector(client.model.parameters()) - start).norm().item())
    server.update(local_states)
print(moved)
