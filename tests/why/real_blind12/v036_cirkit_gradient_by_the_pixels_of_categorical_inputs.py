# https://github.com/april-tools/cirkit/issues/289
import torch
import torch.nn as nn

torch.manual_seed(0)
num_pixels, num_units, num_states = 16, 6, 4


class CategoricalInput(nn.Module):
    def __init__(self, num_variables, num_units):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(num_variables, num_units, num_states))

    def forward(self, x):
        log_probs = torch.log_softmax(self.logits, dim=-1)
        index = x.long()[:, :, None, None].expand(-1, -1, log_probs.shape[1], 1)
        return torch.gather(log_probs.expand(len(x), -1, -1, -1), 3, index).squeeze(3)


class GaussianInput(nn.Module):
    def __init__(self, num_variables, num_units):
        super().__init__()
        self.mean = nn.Parameter(torch.randn(num_variables, num_units))
        self.log_std = nn.Parameter(torch.zeros(num_variables, num_units))

    def forward(self, x):
        return torch.distributions.Normal(self.mean, self.log_std.exp()).log_prob(x[:, :, None])


class Circuit(nn.Module):
    """A mixture of fully factorized distributions over the pixels."""

    def __init__(self, input_layer):
        super().__init__()
        self.input_layer = input_layer
        self.weight = nn.Parameter(torch.zeros(num_units))

    def forward(self, x):
        units = self.input_layer(x).sum(1)
        return torch.logsumexp(units + torch.log_softmax(self.weight, 0), dim=1)


# %%
cct = Circuit(CategoricalInput(num_pixels, num_units))
optimizer = torch.optim.Adam(cct.parameters(), lr=0.01)
data = torch.randint(0, num_states, (64, num_pixels)).float()

# %%
for i in range(0, 64, 32):
    batch = data[i:i + 32].requires_grad_()
    # Compute the log-likelihoods of the batch, by evaluating the circuit
    log_likelihoods = cct(batch)
    mean_log_likelihoods = log_likelihoods.mean()
    dll_dbatch = torch.autograd.grad(mean_log_likelihoods, batch, create_graph=True,
                                     grad_outputs=torch.ones_like(mean_log_likelihoods))[0]
    loss = -mean_log_likelihoods + 0.01 * dll_dbatch.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
