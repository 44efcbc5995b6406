# https://github.com/toshikwa/fqf-iqn-qrdqn.pytorch/issues/14
import torch

torch.manual_seed(0)


def calculate_huber_loss(td_errors, kappa=1.0):
    return torch.where(
        td_errors.abs() <= kappa,
        0.5 * td_errors.pow(2),
        kappa * (td_errors.abs() - 0.5 * kappa))


def calculate_quantile_huber_loss(td_errors, taus, weights=None, kappa=1.0):
    assert not taus.requires_grad
    batch_size, N, N_dash = td_errors.shape

    # Calculate huber loss element-wisely.
    element_wise_huber_loss = calculate_huber_loss(td_errors, kappa)
    assert element_wise_huber_loss.shape == (batch_size, N, N_dash)

    # Calculate quantile huber loss element-wisely.
    element_wise_quantile_huber_loss = torch.abs(
        taus[..., None] - (td_errors.detach() < 0).float()
        ) * element_wise_huber_loss / kappa

    # Quantile huber loss.
    batch_quantile_huber_loss = element_wise_quantile_huber_loss.sum(dim=1).mean(dim=1, keepdim=True)
    return batch_quantile_huber_loss.mean()


# %%
net = torch.nn.Linear(6, 8)
target_net = torch.nn.Linear(6, 8)
target_net.load_state_dict(net.state_dict())
optim = torch.optim.Adam(net.parameters(), lr=1e-2)
taus = ((torch.arange(8) + 0.5) / 8).expand(16, 8)
states, next_states, rewards = torch.randn(16, 6), torch.randn(16, 6), torch.randn(16, 1)

# %%
for _ in range(5):
    current_sa_quantiles = net(states).unsqueeze(-1)
    with torch.no_grad():
        target_sa_quantiles = (rewards + 0.99 * target_net(next_states)).unsqueeze(1)
    td_errors = target_sa_quantiles - current_sa_quantiles
    quantile_loss = calculate_quantile_huber_loss(td_errors, taus)
    optim.zero_grad()
    quantile_loss.backward()
    optim.step()
